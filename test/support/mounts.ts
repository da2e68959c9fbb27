/** File systems of a test's own, and whether it may mount them. */
import { execFileSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { onTestFinished } from "vitest";
import { temporaryFolder } from "./temporary-folder.ts";

/** Why no file system can be mounted here; null where it can. */
export function reasonNotToMount(): string | null {
  if (process.getuid?.() !== 0) return "only root may mount";
  try {
    execFileSync("unshare", ["-m", "mount", "-t", "tmpfs", "tmpfs", "/tmp"], { stdio: "pipe" });
    return null;
  } catch (error) {
    return String((error as { stderr?: Buffer }).stderr ?? error).trim();
  }
}

/** Mounts a file system in memory of so many bytes ("24m") until the test ends, and gives its folder. */
export function mountSmallDisk(size: string): string {
  const folder = temporaryFolder();
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "tmpfs", folder]);
  onTestFinished(() => void execFileSync("umount", ["-l", folder]));
  return folder;
}

/** Takes all that is left of a file system, with one file. */
export function fill(path: string): void {
  for (const bytes of [1 << 20, 4_096, 1]) {
    try {
      for (;;) appendFileSync(path, Buffer.alloc(bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
    }
  }
}
