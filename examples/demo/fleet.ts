/** The machines of the demonstration: agents in processes of their own, each with a folder that stands for its machine. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** One machine. */
export interface Machine {
  name: string;
  /** Folder that stands for `/`. */
  root: string;
  /** Ends the agent and waits until it has gone. */
  stop(): Promise<void>;
}

/** Makes the folders of a machine, with what stands there before anybody manages it, and starts its agent. */
export function startMachine(name: string, folder: string, agentUrl: string): Machine {
  const root = join(folder, name);
  mkdirSync(join(root, "etc"), { recursive: true });
  writeFileSync(join(root, "etc/motd"), "Welcome.\n");
  const program = fileURLToPath(new URL("main.js", import.meta.resolve("fleetwright/cli")));
  const args = ["agent", "--url", agentUrl, "--root", root, "--state-dir", join(folder, `${name}.agent`)];
  const agent = spawn(process.execPath, [program, ...args, "--log-level", "error"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return { name, root, stop: () => stop(agent) };
}

async function stop(agent: ChildProcess): Promise<void> {
  if (agent.exitCode !== null || agent.signalCode !== null) return;
  const gone = once(agent, "exit");
  agent.kill("SIGTERM");
  await gone;
}

/** What lies on a machine: a line for each file with its content, and for each link with its target. */
export function listFiles({ root }: Machine): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const shown = path.slice(root.length);
      if (entry.isSymbolicLink()) return [`${shown} -> ${readlinkSync(path)}`];
      return entry.isFile() ? [`${shown}: ${JSON.stringify(readFileSync(path, "utf8"))}`] : [];
    })
    .sort();
}

/** Changes a file by hand, as people do. */
export function breakFile({ root }: Machine, path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}
