/** Entries of the log of events. */
import type { OrchestratorEvent } from "../events.ts";
import type { LogDefinition } from "../storage/storage.ts";

/** The log that every event is appended to, in the commit of what it tells. */
export const eventLog = "events";

export const eventLogs = { [eventLog]: { chained: false } } as const satisfies Record<string, LogDefinition>;

/** An entry of the log: an event, or that some are missing here, which there was no space for. */
export type EventRecord =
  | { id: string; event: OrchestratorEvent }
  | {
      id: string;
      /** How many. */
      missing: number;
    };

/** What stands for events that could not be written. */
export function missingRecord(id: string, missing: number): { id: string; missing: number } {
  return { id, missing };
}

/** An entry as it is stored. */
export type StoredRecord = OrchestratorEvent | ReturnType<typeof missingRecord>;

/** Reads an entry. */
export function readRecord(value: Readonly<StoredRecord>): EventRecord {
  return "missing" in value ? value : { id: value.id, event: value };
}
