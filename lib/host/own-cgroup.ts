/** Where this process is among the cgroups of version 2, also beside those of version 1 ("hybrid"). */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** The folder of the cgroup that this process is in; null where there is none that it can see. */
export function ownCgroup(): string | null {
  try {
    return cgroupFolder(
      readFileSync("/proc/self/mountinfo", "utf8"),
      readFileSync("/proc/self/cgroup", "utf8"),
    );
  } catch {
    return null;
  }
}

/**
 * The same, from what /proc says.
 *
 * @param mountinfo - /proc/self/mountinfo: the mount of the whole tree, or of a part of it, as a container has.
 * @param cgroup - /proc/self/cgroup: the line of version 2 begins with "0::".
 */
export function cgroupFolder(mountinfo: string, cgroup: string): string | null {
  const own = /^0::(\/.*)$/m.exec(cgroup)?.[1];
  if (own === undefined || own.split("/").includes("..")) return null;
  for (const line of mountinfo.split("\n").toReversed()) {
    const [fields = "", type = ""] = line.split(" - ");
    if (!type.startsWith("cgroup2 ")) continue;
    const [, , , root = "", mountPoint = ""] = fields.split(" ").map(unescape);
    const below = relative(root, own);
    if (below === ".." || below.startsWith("../")) continue;
    return join(mountPoint, below);
  }
  return null;
}

/** Spaces and the like are written as octal numbers there. */
function unescape(field: string): string {
  return field.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}
