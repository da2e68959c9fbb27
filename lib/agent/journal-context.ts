import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import type { KeptResultsLimits } from "./kept-results.ts";

/** Where a journal is and what it works with. */
export interface JournalContext {
  stateDir: string;
  clock: Clock;
  logger: Logger;
  /** The time of the orchestrator, by which commands come too late; milliseconds since 1970. Default the wall clock. */
  orchestratorNow?: () => number;
  /** How much is kept of what was acknowledged. */
  keptResults?: KeptResultsLimits;
  /** Names the time since the machine was last started; null = not known. Default: as the system tells it. */
  boot?: string | null;
}
