import type { Command } from "commander";
import type { Terminal } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import type { Run } from "../call.ts";
import { findAgent } from "../find-agent.ts";
import { findTerminal } from "../find-id.ts";
import { limitOption } from "../options.ts";
import { idColumn, timeColumn, toFacts, toLines, wideColumn } from "../text.ts";
import type { Column } from "../text.ts";
import type { OpenOptions, ReplayOptions } from "../work/terminal.ts";

interface ListOptions extends Pick<Input<"listTerminalsInput">, "status" | "limit"> {
  agent?: string;
}

/** `fleetwright terminal ...` */
export function addTerminalCommands(program: Command, run: Run): void {
  const terminal = program.command("terminal").description("shells on machines, each of them recorded");
  terminal
    .command("open <agent>")
    .description("open a terminal on a machine; it ends with its shell, and with Ctrl-] twice")
    .option("--shell <path>", "the program to run; default the agent's own choice")
    .option("--reason <text>", "why, for the audit log")
    .action(
      run(async (call, agent: string, options: OpenOptions) => {
        const { node_id } = await findAgent(call.client, agent);
        return (await import("../work/terminal.ts")).openTerminal(call, node_id, options);
      }),
    );
  terminal
    .command("list")
    .description("list terminals, newest first")
    .option("--agent <agent>", "only those on one agent")
    .option("--status <status>", "only active, closed or interrupted ones")
    .option(...limitOption)
    .action(
      run(async (call, { agent, ...filter }: ListOptions) => {
        const node = agent === undefined ? {} : { node_id: (await findAgent(call.client, agent)).node_id };
        await call.showList(call.client.terminals.list, { ...filter, ...node }, columns);
      }),
    );
  terminal
    .command("show <session>")
    .description("show how a terminal stands, or ended")
    .action(
      run(async (call, typed: string) => {
        const sessionId = await findTerminal(call.client, typed);
        const found = await call.client.terminals.get(sessionId);
        call.show(found, () => describe(found));
      }),
    );
  terminal
    .command("replay <session>")
    .description("play a terminal as it was; with --text print it, without what a terminal would obey")
    .option("--text", "plain text")
    .option("--search <text>", "only the lines of the text in which this stands")
    .option("--speed <factor>", "so many times as fast; default 1", Number)
    .action(
      run(async (call, typed: string, options: ReplayOptions) => {
        const sessionId = await findTerminal(call.client, typed);
        return (await import("../work/terminal.ts")).replayTerminal(call, sessionId, options);
      }),
    );
  terminal
    .command("close <session>")
    .description("end a terminal and all that it started")
    .action(
      run(async (call, typed: string) => {
        const sessionId = await findTerminal(call.client, typed);
        await call.client.terminals.close(sessionId);
        call.show(null, () => toLines([`${sessionId} is closed.`]));
      }),
    );
}

const columns: readonly Column<Terminal>[] = [
  ["SESSION", ({ session_id }) => session_id, idColumn],
  ["AGENT", ({ agent_name }) => agent_name],
  ["OPERATOR", ({ username }) => username],
  ["STATUS", ({ status }) => status],
  ["OPENED", ({ opened_at }) => opened_at, timeColumn],
  ["ENDED", ({ close_reason }) => close_reason],
  ["RECORDING", ({ recording }) => recording, wideColumn],
  ["WHY", ({ reason }) => reason],
];

function describe(terminal: Terminal): string {
  return toFacts([
    ["session_id", terminal.session_id],
    ["agent", terminal.agent_name],
    ["node_id", terminal.node_id],
    ["operator", terminal.username],
    ["status", terminal.status],
    ["why", terminal.reason],
    ["size", `${terminal.cols}x${terminal.rows}`],
    ["shell", terminal.shell],
    ["opened", terminal.opened_at],
    ["closed", terminal.closed_at],
    ["ended by", terminal.close_reason],
    ["exit code", terminal.exit_code],
    ["bytes", terminal.bytes],
    ["viewers", terminal.viewers],
    ["recording", terminal.recording],
    ["recording hash", terminal.recording_hash],
  ]);
}
