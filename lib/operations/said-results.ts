/**
 * What the results of an operation say that others may say, too: what was, would be or could not be changed. By it the agents of a rollout
 * are told together.
 *
 * It is made of what a reader of the results sees. So the hidden values of two machines, which may differ, say the same, and nothing that is
 * hidden is in its digest.
 */
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { Json } from "../json.ts";
import type { ResourceResult } from "../state/result.ts";
import type { OperationDocument } from "./documents.ts";

/** How much of the results, characters, is looked at between two turns of the event loop. */
const perTurn = 250_000;

/** Whether a result says more than that all is as it should be. */
export function isSaid({ outcome, skipped_because }: ResourceResult): boolean {
  if (outcome === "skipped") return skipped_because !== "condition" && skipped_because !== "undesired";
  return outcome !== "unchanged";
}

/** SHA-256, hex, of how an operation ended and of what its results say; equal for two operations that end alike. */
export async function digestOfEnd(
  { crypto }: Context,
  end: Pick<OperationDocument, "kind" | "status" | "error">,
  results: readonly ResourceResult[],
): Promise<string> {
  const sha256 = (text: string): string => toHex(crypto.sha256(toUtf8(text)));
  const { kind, status, error } = end;
  const said: string[] = [];
  let since = 0;
  for (const result of results) {
    if (!isSaid(result)) continue;
    const text = toText(result);
    said.push(sha256(text));
    since += text.length;
    if (since < perTurn) continue;
    since = 0;
    await nextTurn();
  }
  // Which of two resources that wait for nothing was done first is no difference.
  said.sort();
  return sha256(JSON.stringify([kind, status, error?.code, error?.message, said]));
}

/** How long it took, how often it was tried and since when something is owed differ from machine to machine. */
function toText(result: ResourceResult): string {
  const { duration_ms: _took, attempts: _tries, owed_since: _since, message, ...rest } = result;
  const told = { ...rest, ...(result.outcome === "failed" && message !== undefined && { message }) };
  return canonicalJson(told as unknown as Json);
}
