/** What of an operation of each kind concerns callers. */
import type { OperationDocument } from "./documents.ts";
import type { OperationKind } from "./schemas.ts";

interface KindOfOperation {
  /** Whether it is an operation to callers, with events of its own; else the feature that made it tells of it. */
  isListed: boolean;
  /** As what callers see it. */
  shownAs: OperationKind;
}

const kinds: Readonly<Record<OperationDocument["kind"], KindOfOperation>> = {
  apply: { isListed: true, shownAs: "apply" },
  check: { isListed: false, shownAs: "plan" },
  plan: { isListed: true, shownAs: "plan" },
  forget: { isListed: true, shownAs: "forget" },
  run: { isListed: true, shownAs: "run" },
};

/** Whether callers know it as an operation. */
export function isListed({ kind }: Pick<OperationDocument, "kind">): boolean {
  return kinds[kind].isListed;
}

/** As what callers see an operation. */
export function shownKind({ kind }: Pick<OperationDocument, "kind">): OperationKind {
  return kinds[kind].shownAs;
}
