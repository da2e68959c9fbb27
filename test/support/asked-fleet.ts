/** Machines behind the command line, with somebody at its terminal. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { OperationDetail, Page } from "fleetwright";
import type { AgentProgram } from "fleetwright/agent";
import { runIn, startSignedIn, startSocketAgent } from "./command-line.ts";
import type { CommandLine, CommandResult, Typed } from "./command-line.ts";

/** A machine of the scene. */
export interface Machine {
  agent: AgentProgram;
  /** Whether a file is there. */
  has(path: string): boolean;
}

export interface AskedFleet extends CommandLine {
  machines: Machine[];
  /** Stops the agent of the last machine that was started, and waits until the server knows. */
  leave(): Promise<void>;
  /** Stores a revision of a module `name` with one file for each path. */
  upload(name: string, ...paths: string[]): Promise<void>;
  uploadText(content: string): Promise<void>;
  /** Runs a command at a terminal where this is typed. */
  answer(typed: string | Typed, ...args: string[]): Promise<CommandResult>;
  /** The newest operations of a kind, newest first. */
  operations(kind: string): Promise<OperationDetail[]>;
}

/** Starts machines web-1, web-2 and so on, approved. */
export async function startAskedFleet(count = 1): Promise<AskedFleet> {
  const line = await startSignedIn();
  const machines: Machine[] = [];
  for (let at = 1; at <= count; at += 1) {
    const { agent, root } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId ?? "", "--name", `web-${at}`);
    machines.push({ agent, has: (path) => existsSync(join(root, path)) });
  }
  async function uploadText(content: string): Promise<void> {
    const { code, stderr } = await runIn(line.folder, ["modules", "upload", "-"], undefined, content);
    if (code !== 0) throw new Error(stderr);
  }
  async function leave(): Promise<void> {
    const gone = new Promise<void>((resolve) => {
      const end = line.server.orchestrator.listen(({ event_type }) => {
        if (event_type !== "agent.disconnected") return;
        end();
        resolve();
      });
    });
    await machines.at(-1)?.agent.stop();
    await gone;
  }
  return {
    ...line,
    leave,
    machines,
    uploadText,
    upload: (name, ...paths) =>
      uploadText(
        `name: ${name}\nresources:${paths.length === 0 ? " []" : ""}\n` +
          paths.map((path) => `  - { type: file, path: ${JSON.stringify(path)}, content: x }\n`).join(""),
      ),
    answer: (typed, ...args) =>
      runIn(line.folder, args, line.server.url, typeof typed === "string" ? { typed } : typed),
    async operations(kind) {
      const page = JSON.parse(
        await line.print("operations", "list", "--kind", kind, "--json"),
      ) as Page<OperationDetail>;
      return page.items;
    },
  };
}
