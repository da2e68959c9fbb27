/** The command line in this process, against a real server on loopback. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { MemoryStorage } from "fleetwright";
import type { OrchestratorOptions } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import type { AgentProgram } from "fleetwright/agent";
import { runCommandLine } from "fleetwright/cli";
import { createKeyFile } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import type { RunningServer } from "fleetwright/h3";
import { deferred } from "./deferred.ts";
import { freePort } from "./free-port.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** What a run of the command line came to. */
export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** A server, its Admin's key, and a user's own folder. */
export interface CommandLine {
  server: RunningServer;
  /** Of the Admin. */
  key: string;
  folder: string;
  /** Runs a command as the user. */
  run(...args: string[]): Promise<CommandResult>;
  /** Runs a command that must succeed; resolves with what it printed. */
  print(...args: string[]): Promise<string>;
}

/** Starts a server that keeps everything in memory. */
export async function startCommandLine(options: Partial<OrchestratorOptions> = {}): Promise<CommandLine> {
  const folder = temporaryFolder();
  const key = join(folder, "admin-key");
  const { publicKey } = createKeyFile(key);
  const server = await startServer({
    storage: new MemoryStorage(),
    ...options,
    adminPublicKeys: [publicKey],
    // One that stays free for a server that is started again.
    listen: { port: await freePort() },
  });
  onTestFinished(() => server.close());
  const run = (...args: string[]): Promise<CommandResult> => runIn(folder, args, server.url);
  async function print(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...args);
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${stderr}`);
    return stdout;
  }
  return { server, key, folder, run, print };
}

/** Starts the same with the Admin signed in. */
export async function startSignedIn(): Promise<CommandLine> {
  const commandLine = await startCommandLine();
  await commandLine.print("login", "--key", commandLine.key);
  return commandLine;
}

/** What somebody at a terminal types; nothing stands for Ctrl-D. */
export interface Typed {
  typed: string;
  /** What happens while they think about a question. */
  meanwhile?: () => Promise<unknown>;
}

/**
 * Runs a command with a folder of its own for its user, and what it reads on standard input, or what is typed at a terminal. `said` is
 * called with what it has printed so far on standard error, each time that it prints something there.
 */
export async function runIn(
  folder: string,
  args: readonly string[],
  url?: string,
  input: string | Typed = "",
  said = (_stderr: string): void => {},
): Promise<CommandResult> {
  const result: CommandResult = { code: 0, stdout: "", stderr: "" };
  result.code = await runCommandLine(args, {
    stdout: (text) => void (result.stdout += text),
    stderr(text) {
      result.stderr += text;
      said(result.stderr);
    },
    environment: {
      FLEETWRIGHT_HOME: join(folder, "home"),
      ...(url !== undefined && { FLEETWRIGHT_URL: url }),
    },
    readInput: () => Promise.resolve(typeof input === "string" ? input : input.typed),
    ...(typeof input !== "string" && {
      async ask(question) {
        result.stderr += question;
        await input.meanwhile?.();
        return input.typed === "" ? null : (input.typed.split("\n")[0] ?? null);
      },
    }),
    untilHurried: (unwanted) => new Promise((resolve) => unwanted.addEventListener("abort", () => resolve())),
    untilStopped: (unwanted) =>
      new Promise((resolve) => (unwanted ? unwanted.addEventListener("abort", () => resolve()) : resolve())),
  });
  return result;
}

/** Runs a command of the line's user and asks it to end as soon as it has printed that. */
export async function runStopped(
  { folder, server }: CommandLine,
  isPrinted: (stdout: string) => boolean,
  ...args: string[]
): Promise<CommandResult> {
  const result: CommandResult = { code: 0, stdout: "", stderr: "" };
  const stop = deferred();
  result.code = await runCommandLine(args, {
    stdout(text) {
      result.stdout += text;
      if (isPrinted(result.stdout)) stop.resolve();
    },
    stderr: (text) => void (result.stderr += text),
    environment: { FLEETWRIGHT_HOME: join(folder, "home"), FLEETWRIGHT_URL: server.url },
    readInput: () => Promise.resolve(""),
    untilHurried: () => new Promise(() => {}),
    untilStopped(unwanted) {
      unwanted?.addEventListener("abort", () => stop.resolve());
      return stop.promise;
    },
  });
  return result;
}

/** Starts an agent over a WebSocket and waits until the server knows it. Each has a folder of its own. */
export async function startSocketAgent({
  server,
}: Pick<CommandLine, "server">): Promise<{ agent: AgentProgram; root: string }> {
  const root = temporaryFolder();
  const arrived = new Promise<void>((resolve) => {
    const end = server.orchestrator.listen(({ event_type }) => {
      if (event_type !== "agent.connected") return;
      end();
      resolve();
    });
  });
  const agent = createAgent({ url: server.agentUrl, stateDir: temporaryFolder(), root });
  onTestFinished(() => agent.stop());
  await agent.start();
  await arrived;
  return { agent, root };
}
