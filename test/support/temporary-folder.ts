import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** Makes an empty folder for the test that runs now, and removes it with everything in it when the test is over. */
export function temporaryFolder(): string {
  return folderIn(tmpdir());
}

/**
 * The same for a test that needs a file system on a disk, or a folder that modules may purge: files of others may be in memory, below /dev,
 * where all is the system's.
 */
export function temporaryFolderOnDisk(): string {
  return folderIn(tmpdir().startsWith("/dev/") ? "/tmp" : tmpdir());
}

function folderIn(parent: string): string {
  const folder = mkdtempSync(join(parent, "fleetwright-"));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

/** Removes a folder in which a program that was killed may have left another that writes for a moment yet. */
async function removeFolder(folder: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      // Its own retries would not remove what has come meanwhile.
      return rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOTEMPTY" && code !== "EBUSY") throw error;
      if (performance.now() > deadline) throw error;
    }
    await pause(50);
  }
}
