/** Services that are known by a file with the number of their process, under an init system without control groups. */
import type { Host } from "../../../host/host.ts";
import { act, type Machine } from "../shared/command.ts";

/** Where an init script leaves the number of its process by custom. */
export function usualPidFiles(name: string): string[] {
  return [`/run/${name}.pid`, `/run/${name}/${name}.pid`, `/var/run/${name}.pid`];
}

/** Names the run of the process that one of these files is about, where it is the agent or who started it; null = none is. */
export function ownRunOf(paths: readonly string[], host: Host): string | null {
  const { line = [] } = host.ownProcess?.() ?? {};
  for (const path of paths) {
    if (host.files.stat(path)?.kind !== "file") continue;
    const text = new TextDecoder().decode(host.files.readFile(path));
    const pid = Number(/^\s*(\d+)/.exec(text)?.[1] ?? NaN);
    const found = line.find((each) => each.pid === pid);
    if (found) return `${found.pid} ${found.begun}`;
  }
  return null;
}

/** Starts a program that outlives the agent, which it is about to end. What it says is lost: nobody is there to read it. */
export async function actDetached(argv: readonly string[], machine: Machine): Promise<void> {
  const script = 'nohup "$@" </dev/null >/dev/null 2>&1 &';
  await act({ argv: ["/bin/sh", "-c", script, "sh", ...argv] }, machine);
}
