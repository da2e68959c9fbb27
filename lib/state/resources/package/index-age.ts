import { ask, type Machine } from "../shared/command.ts";

/**
 * Whether a folder, whose time of change is that of a package index, was changed longer ago than so many seconds. One of a time to
 * come says nothing: a clock that was ahead wrote it.
 */
export async function isOlder(folder: string, seconds: number, machine: Machine): Promise<boolean> {
  if (!machine.host.files.stat(folder)) return true;
  const within = ["-mmin", `-${Math.ceil(seconds / 60)}`];
  // The file of the process that asks is of now.
  const argv = ["find", folder, "-maxdepth", "0", ...within, "!", "-newer", "/proc/self/stat"] as const;
  return (await ask({ argv }, machine)).stdout === "";
}
