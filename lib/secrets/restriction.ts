/** Which agents may get a secret. */
import { OrchestratorError } from "../errors.ts";
import { matchesSelector } from "../selectors/match.ts";
import { parseSelector } from "../selectors/parse.ts";
import { toKeptSelector } from "../selectors/print.ts";
import type { SelectorCache } from "../selectors/selector-cache.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import type { SecretRestriction } from "./documents.ts";

/**
 * A restriction as it is stored.
 *
 * @throws {OrchestratorError} `SELECTOR_INVALID`; `VALIDATION_FAILED` for a selector over attributes: what a machine says of itself must
 * not get it a secret.
 */
export function toRestriction({
  selector,
  node_ids,
}: {
  selector?: string | undefined;
  node_ids?: readonly string[] | undefined;
}): SecretRestriction {
  const parsed = selector === undefined ? null : parseSelector(selector);
  if (parsed && looksAtAttributes(parsed)) {
    const message = "must not look at attributes: agents say of themselves what these are";
    throw new OrchestratorError("VALIDATION_FAILED", {
      issues: [{ path: ["restriction", "selector"], message }],
    });
  }
  return {
    ...(selector !== undefined && { selector: toKeptSelector(selector) }),
    ...(node_ids && { node_ids: [...new Set(node_ids)] }),
  };
}

/** Whether an agent may get a secret with this restriction. */
export function mayHave(
  restriction: SecretRestriction | undefined,
  target: SelectorTarget,
  selectors: SelectorCache,
): boolean {
  if (!restriction) return true;
  const { selector, node_ids = [] } = restriction;
  if (node_ids.includes(target.node_id)) return true;
  return selector !== undefined && matchesSelector(selectors.kept(selector), target);
}

function looksAtAttributes(selector: Selector): boolean {
  switch (selector.kind) {
    case "all":
      return false;
    case "not":
      return looksAtAttributes(selector.operand);
    case "and":
    case "or":
      return selector.operands.some(looksAtAttributes);
    default:
      return selector.key.source === "attribute";
  }
}
