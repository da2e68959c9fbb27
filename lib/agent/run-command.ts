/** Runs a command that an operator sent: once, and nothing of it is kept as applied. */
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { runScript, scriptSchema, type ScriptSpec } from "../state/resources/script.ts";
import type { ResourceResult } from "../state/result.ts";
import { cutByCancel } from "../state/run/deadline.ts";
import { withDeadline } from "../state/run/deadline.ts";
import { failureParts, toResult } from "../state/run/state-result.ts";
import type { MessageOf, OrchestratorMessage } from "../wire/messages.ts";
import type { OperationResult } from "./operation-journal.ts";
import type { OperationProgress } from "./operation-progress.ts";
import { toPeerError } from "./peer-error.ts";
import type { RunContext } from "./run-context.ts";

type Command = MessageOf<OrchestratorMessage, "run">;

/** Runs it to its end. What it prints is told as it comes; a failure is a result. */
export async function runCommand(
  command: Command,
  context: RunContext,
  progress: OperationProgress,
): Promise<Pick<OperationResult, "status" | "results" | "error">> {
  const { clock, journal } = context;
  const resource = onlyOne(command);
  const startedMs = clock.monotonic();
  const error = await execute(command, context, progress).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  const parts =
    error === null ? { outcome: "changed" as const, exit_code: 0 } : failureParts(resource, error);
  const result: ResourceResult = toResult(
    { resource, hides: "nothing" },
    { ...parts, action: "run", attempts: 1 },
    clock.monotonic() - startedMs,
  );
  journal.results(command.operation_id, [result]);
  progress.addResult(result);
  const status = error === null ? "succeeded" : statusAfter(error, context);
  return { status, results: [result], ...(error !== null && { error: toPeerError(error) }) };
}

async function execute(command: Command, context: RunContext, progress: OperationProgress): Promise<void> {
  const { clock, host } = context;
  const { module, resource_id } = onlyOne(command);
  const spec = specOf(command);
  const heard: Pick<typeof host, "run"> = {
    run: (program, signal) =>
      host.run(
        {
          ...program,
          onOutput: (stream, bytes) => progress.addOutput({ module, resource_id, stream, bytes }),
        },
        signal,
      ),
  };
  // As with any script: a cancel ends it, an agent that stops lets it finish unless it is to stop at once.
  const cut = cutByCancel({ deadline: context.cut, signal: context.signal });
  try {
    const limits = { clock, timeoutMs: command.timeout_seconds * 1000, signal: cut.signal };
    await withDeadline(limits, (signal) => runScript(spec, heard, signal));
  } finally {
    cut.release();
  }
}

function onlyOne({ resources }: Command): Command["resources"][number] {
  const [resource] = resources;
  if (resources.length === 1 && resource?.type === "script") return resource;
  throw new OrchestratorError("VALIDATION_FAILED", { message: "A run is about one script." });
}

function specOf(command: Command): ScriptSpec {
  const parsed = scriptSchema.safeParse(onlyOne(command).spec);
  if (parsed.success) return parsed.data;
  throw new OrchestratorError("VALIDATION_FAILED", { message: "The script is not of a form known here." });
}

function statusAfter(error: unknown, { cut, signal }: RunContext): OperationResult["status"] {
  if (cut.aborted) return "interrupted";
  if (signal.aborted && isOrchestratorError(signal.reason, "CANCELLED")) return "cancelled";
  return isOrchestratorError(error, "RESOURCE_TIMEOUT") ? "timed_out" : "failed";
}
