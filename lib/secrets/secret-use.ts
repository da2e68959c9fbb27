/** Whether an agent may use a secret now, and why not. */
import { OrchestratorError } from "../errors.ts";
import type { SelectorCache } from "../selectors/selector-cache.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { SecretDocument } from "./documents.ts";
import { mayHave } from "./restriction.ts";

/** Why a secret can't be used. */
export type SecretFault = "unknown" | "removed" | "restricted" | "expired" | "binary";

/** For whom it is asked. */
export interface SecretUser {
  target: SelectorTarget;
  selectors: SelectorCache;
  /** Milliseconds since 1970. */
  now: number;
  /** Whether a machine is only compared with what it was given: what has expired since counts. */
  isCheck?: boolean;
}

/** Why an agent can't use a secret; null where it can. */
export function faultFor(
  secret: Readonly<SecretDocument> | undefined,
  { target, selectors, now, isCheck = false }: SecretUser,
): SecretFault | null {
  if (!secret) return "unknown";
  if (!mayHave(secret.restriction, target, selectors)) return "restricted";
  const isOver = secret.expires_at !== undefined && Date.parse(secret.expires_at) <= now;
  return isOver && !isCheck ? "expired" : null;
}

const reasons: Readonly<Record<SecretFault, string>> = {
  unknown: "there is no such secret",
  removed: "this value of it is not kept any more; apply anew",
  restricted: "it is restricted to other agents",
  expired: "it has expired",
  binary: "it is no text; write it with the filter base64_encode",
};

/** A fault in words, as the end of a sentence. */
export function describeFault(name: string, fault: SecretFault): string {
  return `secrets.${name} can't be used here: ${reasons[fault]}`;
}

/** The error of a secret that an agent can't use. */
export function unavailable(name: string, fault: SecretFault, where = ""): OrchestratorError {
  const text = `${describeFault(name, fault)}${where}.`;
  return new OrchestratorError("SECRET_UNAVAILABLE", {
    message: text.charAt(0).toUpperCase() + text.slice(1),
    details: { secret: name, reason: fault },
  });
}
