import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";

/** Where a journal is and what it works with. */
export interface JournalContext {
  stateDir: string;
  clock: Clock;
  logger: Logger;
}
