import { type ResourceResult, resourceResultSchema } from "../state/result.ts";
import type { OperationResult } from "./operation-journal.ts";

/** A message may be 16 MiB; what is over this is made smaller. */
const maxBytes = 15 * 1024 * 1024;
/** What one message can name. */
const maxResults = 20_000;

/** Results that were looked at: each is asked about when it is known, and once more with all of its operation. */
const sound = new WeakSet<ResourceResult>();

/**
 * A result that the protocol can carry: one with values that break its limits is sent without them. Otherwise the
 * orchestrator would refuse it, and every other with it, each time it is sent again.
 */
export function soundResult(result: ResourceResult): ResourceResult {
  if (sound.has(result)) return result;
  // Who caused it stays: what is owed is settled by that.
  const fitting = resourceResultSchema.safeParse(result).success
    ? result
    : { ...withoutValues(result), caused_by: result.caused_by };
  sound.add(fitting);
  return fitting;
}

/** Takes away from a result what a message can't carry: first the diffs, then the output, then the values. */
export function fitResult(result: OperationResult): OperationResult {
  const bounded = { ...result, results: result.results.slice(0, maxResults).map(soundResult) };
  if (fits(bounded)) return bounded;
  const withoutDiffs = { ...bounded, results: bounded.results.map(withoutDiff) };
  if (fits(withoutDiffs)) return withoutDiffs;
  const output = bounded.output.map((each) => ({ ...each, text: "", truncated: true }));
  const withoutOutput = { ...withoutDiffs, output };
  if (fits(withoutOutput)) return withoutOutput;
  return { ...withoutOutput, results: bounded.results.map(withoutValues) };
}

function fits(result: OperationResult): boolean {
  return Buffer.byteLength(JSON.stringify(result)) <= maxBytes;
}

function withoutDiff(result: ResourceResult): ResourceResult {
  return { ...result, changes: result.changes.map(({ diff: _diff, ...change }) => change) };
}

function withoutValues(result: ResourceResult): ResourceResult {
  const { message: _message, ...rest } = result;
  return { ...rest, changes: [], caused_by: [] };
}
