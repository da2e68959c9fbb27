import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}
