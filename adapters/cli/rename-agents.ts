/** Names of agents: of one, of many after what they tell, or of many from a file. */
import type { AgentOutcome, AgentOutcomes } from "fleetwright";
import type { SureOptions } from "./ask.ts";
import type { CommandCall } from "./call.ts";
import { askBefore, changeAgents, type AgentsChange } from "./change-agents.ts";
import { exitCode, type ExitCode } from "./context.ts";
import { UsageError } from "./failure.ts";
import { findAgent } from "./find-agent.ts";
import { findAgents } from "./find-agents.ts";
import { readText } from "./read-text.ts";
import { toLine, toLines } from "./text.ts";

/** Options of `fleetwright agents rename`. */
export interface RenameOptions extends SureOptions {
  from?: string;
  selector?: string;
  file?: string;
}

/** Gives one agent another name. */
export async function renameOne(call: CommandCall, text: string, name: string): Promise<void> {
  const before = await findAgent(call.client, text);
  const agent = await call.client.agents.rename(before.node_id, { name });
  call.show(agent, () => toLines([toLine(`${before.name ?? text} is named ${name}.`)]));
}

/** Names agents after their hostname or an attribute. */
export async function renameMany(
  call: CommandCall,
  names: readonly string[],
  { from, selector, yes }: RenameOptions & { from: string },
): Promise<ExitCode> {
  const found = await findAgents(call, { names, selector }, ({ status }) => status === "approved");
  await askBefore(call, found, { verb: `Name after their ${from}`, yes, otherwise });
  return changeAgents(call, found, {
    change: (node_ids) => call.client.agents.setNames({ from, node_ids }),
    leavesOut: selector !== undefined,
    tell,
  });
}

/** Gives agents the names that a file has for them. All of it is read and looked up before anything is changed. */
export async function renameFromFile(
  call: CommandCall,
  file: string,
  { yes }: SureOptions,
): Promise<ExitCode> {
  const lines = readLines(await readText(call.context, file), file);
  const texts = lines.map(({ agent }) => agent);
  const found = await findAgents(call, { names: texts }, () => true);
  for (const { text, error } of found.failed) call.tellFailure(error, text);
  if (found.failed.length > 0) return exitCode.failure;
  const nameOf = new Map<string, string>();
  for (const [at, { node_id }] of found.found.entries()) nameOf.set(node_id, lines[at]!.name);
  if (nameOf.size < lines.length) throw new UsageError(`${file} names an agent twice.`);
  await askBefore(call, found, { verb: "Rename", yes, otherwise });
  const change = (node_ids: string[]): Promise<AgentOutcomes> =>
    call.client.agents.setNames({
      names: node_ids.map((node_id) => ({ node_id, name: nameOf.get(node_id)! })),
    });
  return changeAgents(call, found, { change, leavesOut: false, tell });
}

const otherwise = "Nobody was renamed.";

const tell: AgentsChange["tell"] = (outcomes, labelOf) => [
  ...outcomes.filter(isChanged).map(({ node_id, name = "" }) => `${labelOf(node_id)} is named ${name}.`),
  `Renamed: ${outcomes.filter(isChanged).length}`,
];

function isChanged({ outcome }: AgentOutcome): boolean {
  return outcome === "changed";
}

function readLines(text: string, file: string): { agent: string; name: string }[] {
  const lines = text.split(/\r?\n/).map((line, at) => ({ words: line.trim().split(/\s+/), at: at + 1 }));
  const named = lines.filter(({ words: [first = ""] }) => first !== "" && !first.startsWith("#"));
  if (named.length === 0) throw new UsageError(`${file} names no agent.`);
  return named.map(({ words: [agent = "", name, ...more], at }) => {
    if (name === undefined || more.length > 0)
      throw new UsageError(`${file}:${at}: a line is an agent and its name.`);
    return { agent, name };
  });
}
