/** What an operation is, and what it is run with. */
import type { Clock } from "../clock.ts";
import type { Host } from "../host/host.ts";
import type { Logger } from "../logger.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { MessageOf, OrchestratorMessage, PeerError } from "../wire/messages.ts";
import type { AppliedSet } from "./applied-set.ts";
import type { OperationJournal } from "./operation-journal.ts";
import type { ProgressSink } from "./operation-progress.ts";
import type { OpenSecrets } from "./operation-secrets.ts";

/** A command that has the engine run. */
export type EngineCommand = MessageOf<OrchestratorMessage, "apply" | "plan" | "check">;

type OtherCommand = MessageOf<OrchestratorMessage, "forget" | "run">;

/** A command that makes an operation. */
export type OperationCommand = EngineCommand | OtherCommand;

/** What one operation is run with. */
export interface RunContext {
  journal: OperationJournal;
  applied: AppliedSet;
  host: Host;
  clock: Clock;
  logger: Logger;
  types: ResourceTypes;
  /** Default: an operation with secrets fails. */
  openSecrets?: OpenSecrets;
  progress: ProgressSink;
  /** Cancels after the change in progress. */
  signal: AbortSignal;
  /** Cuts the change in progress as well. */
  cut: AbortSignal;
  /** Why it must not begin, found when its turn came; null where it may. */
  refusal: PeerError | null;
  /** Whether what was cancelled was cancelled because the agent stops. */
  isInterrupted: () => boolean;
  /** Aborted as soon as the agent stops. */
  ending: AbortSignal;
}
