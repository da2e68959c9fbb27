import { readFileSync } from "node:fs";

/**
 * Names the time since the machine was last started; null where that can't be found out. What was written without a sync is
 * there as long as the name is the same, whatever became of the process that wrote it.
 */
export function currentBoot(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return null;
  }
}
