import { hash } from "node:crypto";
import { join } from "node:path";
import type { Restored, RestoreNote } from "../storage.ts";
import type { Disk } from "./disk.ts";

/** The file that a restore leaves for the next start. */
export const restoreNoteName = "restored.json";

/** Keeps the note of a restore until somebody has acted on it: a process that dies before has told nobody. */
export class RestoreNoteFile implements Restored {
  readonly #disk: Disk;
  readonly #folder: string;
  #note: RestoreNote | null;

  private constructor(disk: Disk, folder: string, note: RestoreNote | null) {
    this.#disk = disk;
    this.#folder = folder;
    this.#note = note;
  }

  static async open(disk: Disk, folder: string): Promise<RestoreNoteFile> {
    const content = await disk.readWhole(join(folder, restoreNoteName));
    return new RestoreNoteFile(disk, folder, content && parseNote(content));
  }

  note(): RestoreNote | null {
    return this.#note;
  }

  async told(): Promise<void> {
    if (this.#note === null) return;
    // Not synced: where a loss of power brings it back, it names a restore that is known.
    await this.#disk.remove(join(this.#folder, restoreNoteName));
    this.#note = null;
  }
}

/** What a note holds; `random` makes each restore another one. */
export function restoreNoteText(given: { restored_at: string; epoch_after: number; random: string }): string {
  return `${JSON.stringify({ version: 1, ...given })}\n`;
}

/** That there is a note is what counts; a damaged one names the restore all the same. */
function parseNote(content: Buffer): RestoreNote {
  const text = content.toString();
  const epochAfter = Number(/"epoch_after":(\d{1,16})[,}]/.exec(text)?.[1] ?? 0);
  return {
    restore_id: hash("sha256", content, "hex"),
    restored_at: restoredAtOf(text),
    epoch_after: Number.isSafeInteger(epochAfter) ? epochAfter : 0,
  };
}

function restoredAtOf(text: string): string {
  const at = /"restored_at":"([0-9T:.Z-]{20,30})"/.exec(text)?.[1] ?? "";
  return Number.isNaN(Date.parse(at)) ? new Date(0).toISOString() : at;
}
