import { toTimestamp } from "../clock.ts";
import { isOrchestratorError } from "../errors.ts";
import { cleanError, cleanResult } from "../secret-format/clean-results.ts";
import { Redactor } from "../secret-format/redactor.ts";
import { backupsOf } from "../state/resources/file/prior.ts";
import type { ResourceResult } from "../state/result.ts";
import { type StateRunResult, runState } from "../state/run/engine.ts";
import type { LastAct } from "../state/run/last-act.ts";
import type { MessageOf, OrchestratorMessage } from "../wire/messages.ts";
import { limitsOf } from "./foreseen-limits.ts";
import { afterForgetting, foreseeForgetting } from "./forget.ts";
import type { OperationResult } from "./operation-journal.ts";
import { OperationProgress } from "./operation-progress.ts";
import { openNoSecrets, type RevealedSecrets, withoutSecrets } from "./operation-secrets.ts";
import { endByRestart } from "./own-restart.ts";
import { toPeerError } from "./peer-error.ts";
import { keepChanges } from "./recovery.ts";
import { fitResult, soundResult } from "./result-size.ts";
import { runCommand } from "./run-command.ts";
import type { OperationCommand, EngineCommand, RunContext } from "./run-context.ts";

const noSecrets = new Redactor([]);

/** How an operation ended. */
export interface OperationOutcome {
  result: OperationResult;
  /** Whether anything on the machine may be different now. */
  changed: boolean;
}

/** What is known of the end of an operation beside its times. */
type Ending = Pick<OperationResult, "status" | "results" | "error"> & {
  /** Whether what is applied now could not be written down. */
  unsaved?: boolean;
  /** What is left to be done, because it ends the agent. */
  lastAct?: LastAct | undefined;
};

/**
 * Runs one accepted operation to its end and writes its result into the journal. A failure is a result. Null where the agent is
 * about to be restarted by it: the next start ends it.
 */
export async function runOperation(
  command: OperationCommand,
  context: RunContext,
): Promise<OperationOutcome | null> {
  const { clock, journal } = context;
  const { operation_id } = command;
  const secrets = secretsOf(command, context);
  const redactor = secrets instanceof Error ? noSecrets : secrets.redactor;
  const progress = new OperationProgress(operation_id, { clock, sink: context.progress, redactor });
  const startedAt = clock.now();
  const startedMs = clock.monotonic();
  const quiet = { ...context, logger: withoutSecrets(context.logger, redactor) };
  const ended =
    secrets instanceof Error
      ? { status: "failed" as const, results: [], error: toPeerError(secrets) }
      : await endingOf(command, { ...quiet, ...secrets }, progress);
  const { unsaved = false, lastAct, ...told }: Ending = ended;
  const ending = { ...told, ...(told.error && { error: cleanError(told.error, redactor) }) };
  progress.flush();
  const foretold = fitResult({
    type: "result",
    operation_id,
    ...ending,
    output: progress.output.all(),
    started_at: toTimestamp(startedAt),
    finished_at: toTimestamp(clock.now()),
    duration_ms: Math.round(clock.monotonic() - startedMs),
  });
  const result = lastAct
    ? await endByRestart(foretold, { lastAct, ending: context.ending }, context)
    : foretold;
  if (result === null) return null;
  if (unsaved) journal.hold(result);
  else journal.finish(result);
  return { result, changed: result.results.some((each) => each.outcome === "changed") };
}

/** What an operation needs, or why it can't have it. */
function secretsOf(
  command: OperationCommand,
  { openSecrets = openNoSecrets }: RunContext,
): RevealedSecrets | Error {
  try {
    return openSecrets(command.type === "forget" ? { operation_id: command.operation_id } : command);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

type RevealedContext = RunContext & RevealedSecrets;

async function endingOf(
  command: OperationCommand,
  context: RevealedContext,
  progress: OperationProgress,
): Promise<Ending> {
  const { refusal, logger } = context;
  if (refusal) {
    const status = refusal.code === "EMPTY_DESIRED_STATE" ? "failed" : "cancelled";
    return { status, results: [], ...(refusal.code !== "CANCELLED" && { error: refusal }) };
  }
  try {
    context.journal.started(command.operation_id);
    if (command.type === "forget") return forget(command, context);
    if (command.type === "run") return await runCommand(command, context, progress);
    const run = await runEngine(command, context, progress);
    const failure = command.type === "apply" ? keepApplied(run, context) : null;
    const error = failure ?? run.error;
    return {
      status: statusOf(run, context, failure !== null),
      results: run.results.map((each) => cleanResult(each, context.redactor)),
      ...(error && { error: toPeerError(error) }),
      unsaved: failure !== null,
      lastAct: run.lastAct,
    };
  } catch (error) {
    if (!isOrchestratorError(error)) {
      logger.error("The engine broke off.", { operation_id: command.operation_id, error });
    }
    const unsaved = command.type === "apply" && !(await keepCut(command, context));
    return { status: "failed", results: [], error: toPeerError(error), unsaved };
  }
}

function forget(
  { operation_id, names }: MessageOf<OrchestratorMessage, "forget">,
  context: RunContext,
): Ending {
  const results = foreseeForgetting(names, context.applied);
  context.journal.results(operation_id, results);
  const failure = keepApplied(afterForgetting(results, context.applied), context);
  if (!failure) return { status: "succeeded", results };
  return { status: "partial", results, error: toPeerError(failure), unsaved: true };
}

function runEngine(
  command: EngineCommand,
  context: RevealedContext,
  progress: OperationProgress,
): Promise<StateRunResult> {
  const { journal, applied, host, clock, logger, types, signal, cut, reveal, redactor } = context;
  const { operation_id } = command;
  const waiting: ResourceResult[] = [];
  const write = (): void => {
    if (waiting.length > 0) journal.results(operation_id, waiting.splice(0));
  };
  const confirm = command.type === "apply" ? limitsOf(command, host) : null;
  return runState({
    mode: command.type,
    desired: command.resources,
    applied: applied.resources,
    owed: applied.owed,
    operationId: operation_id,
    host,
    clock,
    signal,
    cut,
    timeoutMs: command.timeout_seconds * 1000,
    types,
    logger,
    ...(reveal && { reveal }),
    ...(confirm && { confirm }),
    ...(command.skip_reasons && { skipReasons: command.skip_reasons }),
    ...(command.type !== "check" && command.scope && { scope: command.scope }),
    holdRemovals: command.type === "apply" && command.hold_removals === true,
    beforeChanges: async (captured, watching) => journal.captured(operation_id, captured, watching),
    onBegun: (change) => journal.begun(operation_id, change),
    onUntouched: (identity) => journal.untouched(operation_id, identity),
    onResult(found) {
      const result = soundResult(cleanResult(found, redactor));
      waiting.push(result);
      // What was done is written down at once. Of what was not, as much as comes without a pause: a process that is
      // killed in between might as well have been killed before it looked.
      if (result.outcome === "changed" || result.outcome === "failed") write();
      else if (waiting.length === 1) queueMicrotask(write);
      progress.addResult(result);
    },
    onOutput: (output) => progress.addOutput(output),
  });
}

/** The error, where what is applied could not be noted. */
function keepApplied(
  { applied: resources, owed }: Pick<StateRunResult, "applied" | "owed">,
  { applied, host, logger }: RunContext,
): Error | null {
  try {
    applied.replace(resources, owed);
  } catch (error) {
    logger.error("What was applied could not be noted.", { error });
    return error instanceof Error ? error : new Error(String(error));
  }
  try {
    host.backups.prune(backupsOf(resources));
  } catch (error) {
    logger.warn("Copies of old files that nothing needs any more could not be removed.", { error });
  }
  return null;
}

/** Notes what a run changed that broke off; false where that can't be written down. */
async function keepCut({ operation_id }: EngineCommand, context: RunContext): Promise<boolean> {
  try {
    await keepChanges(context.journal.recordsOf(operation_id), context);
    return true;
  } catch (error) {
    context.logger.error("What was applied could not be noted.", { error });
    return false;
  }
}

function statusOf(run: StateRunResult, context: RunContext, failed: boolean): OperationResult["status"] {
  if (run.status === "cancelled" && context.isInterrupted()) return "interrupted";
  if (!failed || run.status !== "succeeded") return run.status;
  return run.results.some((result) => result.outcome === "changed") ? "partial" : "failed";
}
