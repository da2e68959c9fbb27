import { readFileSync } from "node:fs";
import type { HostProcess } from "./host-command.ts";
import { processAt } from "./process-table.ts";

/** This process, as the init system of its machine may know it. */
export function ownProcess(): HostProcess {
  const pids = [process.pid, ...(process.ppid > 1 ? [process.ppid] : [])];
  const line = pids.map((pid) => ({ pid, begun: processAt(pid)?.begun ?? 0 }));
  const uid = process.geteuid?.();
  return { line, cgroups: cgroupsIn(readOwnCgroups()), ...(uid !== undefined && { uid }) };
}

/**
 * The control groups that /proc/self/cgroup names, of whatever version. One that begins outside of what this process can see says
 * nothing here.
 */
export function cgroupsIn(text: string): string[] {
  const paths = [...text.matchAll(/^\d+:[^:\n]*:(\/.*)$/gm)].map(([, path = ""]) => path);
  return [...new Set(paths)].filter((path) => path !== "/" && !path.split("/").includes(".."));
}

function readOwnCgroups(): string {
  try {
    return readFileSync("/proc/self/cgroup", "utf8");
  } catch {
    return "";
  }
}
