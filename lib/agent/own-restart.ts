/**
 * The end of an operation that restarts the agent.
 *
 * ```
 * all is done and noted -> restarting (durable) -> ordered -> the agent is told to stop, and leaves the operation open
 *                                                     |         └─> next start: another run of the service: as foretold
 *                                                     |                         the same, or none: interrupted, the restart still owed
 *                                                     └─ refused, or nothing came of it in a minute: the restart failed
 * ```
 */
import { type Clock, toTimestamp } from "../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import type { Logger } from "../logger.ts";
import type { ResourceEnding, ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { withDeadline } from "../state/run/deadline.ts";
import type { LastAct } from "../state/run/last-act.ts";
import type { AppliedSet } from "./applied-set.ts";
import type { CutOperation } from "./cut-operation.ts";
import type { RestartingRecord } from "./journal-record.ts";
import type { OperationJournal, OperationResult } from "./operation-journal.ts";

/** How long a restart that was ordered may take to reach the agent, milliseconds. */
const restartWaitMs = 60_000;

/** How long it may take to order it, or to find out which run of the service this is, milliseconds. */
const askingMs = 20_000;

/** What the end of an operation works with. */
interface RestartContext {
  journal: OperationJournal;
  applied: AppliedSet;
  host: Host;
  types: ResourceTypes;
  clock: Clock;
  logger: Logger;
}

/**
 * Orders the restart that an operation is left with, unless the operation did not come to its end as it should.
 *
 * @param result - As it is once the restart is done.
 * @param ending - Aborted as soon as the agent is told to stop.
 * @returns The result where the agent lives on; null where it ends, and its next start tells.
 */
export async function endByRestart(
  result: OperationResult,
  { lastAct, ending }: { lastAct: LastAct; ending: AbortSignal },
  context: RestartContext,
): Promise<OperationResult | null> {
  const { journal, clock, host, types, logger } = context;
  const { resource, ownRun, owedAfter } = lastAct;
  const failed = (error: unknown): OperationResult => withFailure(result, lastAct, { error, clock });
  const type = endingOf(resource, types);
  const isWhole = result.status === "succeeded" || result.status === "partial";
  if (!type || !isWhole || result.error) return failed(notOrdered());
  if (ending.aborted) return { ...failed(notOrdered()), status: "interrupted" };
  try {
    journal.restarting({ resource, own_run: ownRun, owed: [...owedAfter], result });
    await inTime(clock, (signal) => type.ending.order(type.spec, host, signal));
  } catch (error) {
    // The stop that was ordered may end the program that ordered it, too.
    const isCut = isOrchestratorError(error, "COMMAND_FAILED") && error.details["exit_code"] === null;
    if (!isCut && !ending.aborted) return failed(error);
  }
  logger.info("The agent is being restarted.", { operation_id: result.operation_id });
  await endOrTime(ending, { clock, timeoutMs: restartWaitMs });
  if (ending.aborted) return null;
  // What stops the service may leave this process alone.
  const found = await currentRun(resource, context);
  if (found === null || found === ownRun) {
    const message = `It was told to restart and did not within ${restartWaitMs / 1000} s.`;
    return failed(new OrchestratorError("NOT_CONVERGED", { message }));
  }
  settle(owedAfter, context);
  return endedNow(result, clock);
}

/**
 * Ends an operation that was cut off by its own restart as it was foretold.
 *
 * @returns Whether it did: "interrupted" where the restart did not come, and is still owed; null where none was about to be ordered.
 */
export async function concludeRestart(
  operation: CutOperation,
  context: RestartContext,
): Promise<"done" | "interrupted" | null> {
  const record = operation.records.findLast((each): each is RestartingRecord => each.record === "restarting");
  if (!record) return null;
  const { journal, clock } = context;
  const found = await currentRun(record.resource, context);
  if (found === null) return "interrupted";
  const isOtherBoot = record.boot !== undefined && journal.boot !== null && record.boot !== journal.boot;
  if (found === record.own_run && !isOtherBoot) return "interrupted";
  // Killed behind this, the next start comes to the same.
  context.applied.replace(context.applied.resources, record.owed);
  journal.finish(endedNow(record.result, clock));
  return "done";
}

function notOrdered(): OrchestratorError {
  const message = "The agent is not restarted by an operation that did not come to its end as it should.";
  return new OrchestratorError("UNAVAILABLE", { message });
}

/** Why an operation ended `interrupted` that was about to restart the agent. */
export function restartMissing(): OrchestratorError {
  const message = "The agent ended before the restart that it was about to order. The restart is still owed.";
  return new OrchestratorError("COMMAND_FAILED", { message });
}

/** Which run of a service this is; null where it is none, or that can't be found out. */
async function currentRun(
  resource: ResolvedResource,
  { types, host, clock, logger }: RestartContext,
): Promise<string | null> {
  const type = endingOf(resource, types);
  if (!type) return null;
  try {
    return await inTime(clock, (signal) => type.ending.ownRun(type.spec, host, signal));
  } catch (error) {
    logger.warn("Whether the agent was restarted could not be found out.", { error });
    return null;
  }
}

/** Not cut when the agent is told to stop: that may be what was asked for. */
async function inTime<T>(clock: Clock, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limits = { clock, timeoutMs: askingMs, signal: new AbortController().signal };
  return withDeadline(limits, run);
}

function endingOf(
  { type: name, spec }: ResolvedResource,
  types: ResourceTypes,
): { ending: ResourceEnding; spec: unknown } | null {
  const type = types.get(name);
  const parsed = type?.schema.safeParse(spec);
  return type?.ending && parsed?.success ? { ending: type.ending, spec: parsed.data } : null;
}

function settle(owed: LastAct["owedAfter"], { applied, logger }: RestartContext): void {
  try {
    applied.replace(applied.resources, owed);
  } catch (error) {
    // Noted with the next operation; a restart that is done twice does no harm.
    logger.error("What is owed could not be noted.", { error });
  }
}

function withFailure(
  result: OperationResult,
  lastAct: LastAct,
  { error, clock }: { error: unknown; clock: Clock },
): OperationResult {
  const failure = lastAct.failedFor(error);
  const isIt = ({ module, resource_id }: OperationResult["results"][number]): boolean =>
    module === failure.module && resource_id === failure.resource_id;
  const at = result.results.findLastIndex(isIt);
  const results = result.results.map((each, index) => (index === at ? failure : each));
  const ended = results.some(({ outcome }) => outcome === "changed") ? "partial" : "failed";
  const hasEnded = result.status === "succeeded" || result.status === "partial";
  return endedNow({ ...result, results, status: hasEnded ? ended : result.status }, clock);
}

function endedNow(result: OperationResult, clock: Clock): OperationResult {
  const finishedAt = clock.now();
  const duration_ms = Math.max(0, finishedAt - Date.parse(result.started_at));
  return { ...result, finished_at: toTimestamp(finishedAt), duration_ms };
}

function endOrTime(
  signal: AbortSignal,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.setTimer(timeoutMs, end);
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) end();
  });
}
