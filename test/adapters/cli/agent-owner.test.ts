/** What the owner of a machine lets nobody do there, said with the command or in the file of the agent. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { isOrchestratorError, systemCaller } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { runCommandLine } from "fleetwright/cli";
import { startCommandLine } from "../../support/command-line.ts";
import { deferred } from "../../support/deferred.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** What may be done on a machine: an error code, or null where it is. */
interface Allowed {
  command: string | null;
  terminal: string | null;
  /** One that an operator opens with a shell that is not there. */
  otherShell: string | null;
}

const all: Allowed = { command: null, terminal: null, otherShell: "HOST_ERROR" };
const noCommands: Allowed = { ...all, command: "COMMANDS_REFUSED" };
const noTerminals: Allowed = { ...all, terminal: "TERMINALS_REFUSED", otherShell: "TERMINALS_REFUSED" };
const ownShell: Allowed = { ...all, otherShell: null };
const noUser: Allowed = { ...all, terminal: "TERMINALS_UNAVAILABLE", otherShell: "TERMINALS_UNAVAILABLE" };

const rows: readonly [words: string, lines: string, allowed: Allowed][] = [
  ["", "", all],
  ["", "commands = true\nterminals = true", all],
  ["--no-commands", "", noCommands],
  ["", "commands = false", noCommands],
  ["--no-commands", "commands = true", noCommands],
  ["--no-terminals", "", noTerminals],
  ["", "terminals = false", noTerminals],
  ["--no-terminals", "terminals = true", noTerminals],
  ["--no-terminals", "terminal_shell = /bin/sh", noTerminals],
  ["--terminal-shell /bin/sh", "", ownShell],
  ["", "terminal_shell = /bin/sh", ownShell],
  ["--terminal-shell /bin/sh", "terminal_shell = /nowhere/sh", ownShell],
  ["--terminal-user no-such-user", "", noUser],
  ["", "terminal_user = no-such-user", noUser],
];

/** Starts an agent as its owner does, and approves it. */
async function startAgent(
  orchestrator: Orchestrator,
  url: string,
  [words, lines]: readonly [string, string, ...unknown[]],
): Promise<string> {
  const folder = temporaryFolder();
  const config = join(folder, "agent.conf");
  writeFileSync(config, `state_dir = ${join(folder, "state")}\n${lines}\n`);
  const [stop, told] = [deferred(), deferred()];
  let [said, failed] = ["", ""];
  const args = ["agent", "--config", config, "--root", temporaryFolder(), "--json"];
  const ended = runCommandLine([...args, ...words.split(" ").filter((word) => word !== "")], {
    stdout(text) {
      said += text;
      told.resolve();
    },
    stderr: (text) => void (failed += text),
    environment: { FLEETWRIGHT_HOME: join(folder, "home"), FLEETWRIGHT_URL: url },
    readInput: () => Promise.resolve(""),
    untilHurried: (unwanted) => new Promise((resolve) => unwanted.addEventListener("abort", () => resolve())),
    untilStopped: () => stop.promise,
  });
  onTestFinished(async () => {
    stop.resolve();
    await ended;
  });
  await Promise.race([told.promise, ended]);
  expect(said, failed).not.toBe("");
  const { node_id } = JSON.parse(said) as { node_id: string };
  await expect.poll(() => approve(orchestrator, node_id)).toBe(true);
  return node_id;
}

async function approve(orchestrator: Orchestrator, node_id: string): Promise<boolean> {
  const { items } = await orchestrator.agents.list(systemCaller, { connected: true });
  if (!items.some((agent) => agent.node_id === node_id)) return false;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  return true;
}

async function codeOf(work: Promise<unknown>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (!isOrchestratorError(error)) throw error;
    return error.code;
  }
}

async function allowedOn({ runs, terminals }: Orchestrator, node_id: string): Promise<Allowed> {
  const run = await runs.start(systemCaller, { node_ids: [node_id], command: ["true"], wait_seconds: 30 });
  const [group] = run.groups;
  return {
    command: group?.error?.code ?? (group?.status === "succeeded" ? null : run.status),
    terminal: await codeOf(terminals.open(systemCaller, { node_id, shell: "/bin/sh" })),
    otherShell: await codeOf(terminals.open(systemCaller, { node_id, shell: "/nowhere/other" })),
  };
}

it("who starts an agent says what may be done on the machine, with the command, in its file or both", async () => {
  const { server } = await startCommandLine();
  const faults: unknown[] = [];
  for (const row of rows) {
    const node_id = await startAgent(server.orchestrator, server.url, row);
    const found = await allowedOn(server.orchestrator, node_id);
    const [words, lines, wanted] = row;
    if (JSON.stringify(found) !== JSON.stringify(wanted)) faults.push({ words, lines, found, wanted });
  }
  expect(faults).toEqual([]);
});
