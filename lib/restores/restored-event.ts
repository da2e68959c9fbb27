import type { EventInput } from "../context.ts";
import type { EpochRestore } from "../epochs.ts";

/** Tells of the first start after a restore. */
export function restoredEvent({ restored_at, backup_at }: EpochRestore): EventInput {
  const of = backup_at === null ? "a backup" : `a backup of ${backup_at}`;
  return {
    type: "storage.restored",
    summary: `The server was restored from ${of}; nothing happens by itself until an Admin has it go on`,
    metadata: { restored_at, backup_at },
  };
}
