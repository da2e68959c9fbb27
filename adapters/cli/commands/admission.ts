/** `fleetwright agents approve|reject|tag|rename|replace`: who is in the fleet, and what it is called. */
import type { Command } from "commander";
import type { Agent, AgentOutcome } from "fleetwright";
import { askerOf, makeSure, sureOption, yesOption, type SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { askBefore, changeAgents, type AgentsChange } from "../change-agents.ts";
import type { ExitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { findAgent } from "../find-agent.ts";
import { findAgents } from "../find-agents.ts";
import { gather, gatherTag, type TagOptions } from "../options.ts";
import { renameFromFile, renameMany, renameOne, type RenameOptions } from "../rename-agents.ts";
import { toLine, toLines } from "../text.ts";

interface WhichOptions extends SureOptions {
  selector?: string;
  allPending?: true;
}

/** Adds them to `fleetwright agents`. */
export function addAdmissionCommands(agents: Command, run: Run): void {
  agents
    .command("approve [agent...]")
    .description("let agents into the fleet")
    .option("--name <name>", "its name, of one agent; default its hostname")
    .option(...selectorOption)
    .option("--all-pending", "all that wait; at a terminal it shows them and asks")
    .option(...yesOption)
    .action(run(approve));
  agents
    .command("reject [agent...]")
    .description("keep agents out")
    .option(...selectorOption)
    .option("--all-pending", "all that wait; `reject-pending` takes filters")
    .option(...sureOption)
    .action(run(reject));
  addTag(agents, run);
  agents
    .command("rename [agent...]")
    .description("give agents other names: `rename AGENT NAME`, or many with --from or --file")
    .option(
      "--from <attribute>",
      "after what each tells: hostname, or an attribute; of the agents named, or --selector",
    )
    .option(...selectorOption)
    .option("--file <file>", "lines such as `web-1 web-01`, the agent and its name; - is standard input")
    .option(...yesOption)
    .action(run(rename));
  agents
    .command("replace <old> <new>")
    .description(
      "have a new agent take the place of an old one, whose key stays out: for a machine that was installed anew",
    )
    .option("--force", "also where the old one is connected, or the new one was applied to")
    .option(...sureOption)
    .action(run(replace));
}

const selectorOption = ["--selector <selector>", "those that it matches, but no rejected ones"] as const;

function addTag(agents: Command, run: Run): void {
  agents
    .command("tag [agent...]")
    .description("set and take away tags of agents")
    .option("--set <key=value>", "a tag to set; may be given more than once", gatherTag)
    .option("--unset <key>", "a tag to take away; may be given more than once", gather)
    .option(...selectorOption)
    .option(...yesOption)
    .action(run(tag));
}

type ApproveOptions = WhichOptions & { name?: string };

async function approve(
  call: CommandCall,
  names: string[],
  options: ApproveOptions,
): Promise<ExitCode | void> {
  const { name, allPending, selector, yes } = options;
  const isMany = allPending === true || selector !== undefined;
  if (name !== undefined && (names.length > 1 || isMany)) throw new UsageError("A --name is for one agent.");
  if (names.length === 1 && !isMany) return decideOne(call, names[0]!, { status: "approved", name });
  // One that comes while somebody reads the list is not meant.
  const found = await findAgents(call, { names, selector, allPending }, ({ status }) => status === "pending");
  await askBefore(call, found, { verb: "Approve", yes, otherwise: "Nobody was approved.", always: isMany });
  return changeAgents(call, found, {
    change: (node_ids) =>
      call.client.agents.setStatuses({
        status: "approved",
        node_ids,
        ...(isMany && { expected_status: "pending" }),
      }),
    leavesOut: isMany,
    tell: isMany ? tellCounts("Approved") : tellStatuses,
  });
}

async function reject(call: CommandCall, names: string[], options: WhichOptions): Promise<ExitCode | void> {
  const { allPending, selector, yes } = options;
  const isMany = allPending === true || selector !== undefined;
  if (names.length === 1 && !isMany) return decideOne(call, names[0]!, { status: "rejected" });
  // Refused before anything is looked up where nobody can be asked.
  if (askerOf(call, yes) === null) await makeSure(call, options, "Reject several agents");
  const found = await findAgents(
    call,
    { names, selector, allPending },
    ({ status }) => status !== "rejected",
  );
  await askBefore(call, found, { verb: "Reject", yes, otherwise: "Nothing was changed." });
  return changeAgents(call, found, {
    change: (node_ids) =>
      call.client.agents.setStatuses({
        status: "rejected",
        node_ids,
        ...(allPending && { expected_status: "pending" }),
      }),
    leavesOut: isMany,
    tell: isMany ? tellCounts("Rejected") : tellStatuses,
  });
}

async function decideOne(
  call: CommandCall,
  text: string,
  { status, name }: { status: "approved" | "rejected"; name?: string | undefined },
): Promise<void> {
  const { node_id } = await findAgent(call.client, text);
  const agent = await call.client.agents.setStatus(node_id, { status, ...(name !== undefined && { name }) });
  call.show(agent, () => toLines([describeStatus(agent)]));
}

function describeStatus({ name, node_id, status }: AgentOutcome | Agent): string {
  return toLine(`${name ?? node_id} is ${status ?? "gone"}.`);
}

const tellStatuses: AgentsChange["tell"] = (outcomes) =>
  outcomes.filter(({ outcome }) => outcome === "changed").map(describeStatus);

function tellCounts(done: string): AgentsChange["tell"] {
  return (outcomes) => {
    const leftOut = countOf(outcomes, "left_out");
    const why = done === "Approved" ? "they do not wait any more" : "somebody decided about them";
    return [
      `${done}: ${countOf(outcomes, "changed")}`,
      ...(leftOut > 0 ? [`Left out, for ${why}: ${leftOut}`] : []),
    ];
  };
}

function countOf(outcomes: readonly AgentOutcome[], wanted: AgentOutcome["outcome"]): number {
  return outcomes.filter(({ outcome }) => outcome === wanted).length;
}

type TagCommandOptions = WhichOptions & { set?: TagOptions; unset?: string[] };

async function tag(call: CommandCall, names: string[], options: TagCommandOptions): Promise<ExitCode> {
  const { set, unset, selector, yes } = options;
  if (set === undefined && unset === undefined) throw new UsageError("Say --set KEY=VALUE, or --unset KEY.");
  const found = await findAgents(call, { names, selector }, ({ status }) => status === "approved");
  await askBefore(call, found, { verb: "Change the tags of", yes, otherwise: "Nothing was changed." });
  return changeAgents(call, found, {
    change: (node_ids) =>
      call.client.tags.change({ node_ids, ...(set && { set }), ...(unset && { remove: unset }) }),
    leavesOut: selector !== undefined,
    tell: (outcomes) => [
      `Changed: ${countOf(outcomes, "changed")}`,
      `As they were: ${countOf(outcomes, "unchanged")}`,
    ],
  });
}

type ReplaceOptions = SureOptions & { force?: true };

async function rename(call: CommandCall, words: string[], options: RenameOptions): Promise<ExitCode | void> {
  const { from, file, selector } = options;
  if (file !== undefined) {
    if (words.length > 0 || from !== undefined || selector !== undefined)
      throw new UsageError("A --file says itself which agents get which names.");
    return renameFromFile(call, file, options);
  }
  if (from !== undefined) return renameMany(call, words, { ...options, from });
  const [text, name, ...more] = words;
  if (selector !== undefined || text === undefined || name === undefined || more.length > 0)
    throw new UsageError("Say `rename AGENT NAME`, or what names are made of: --from hostname.");
  return renameOne(call, text, name);
}

async function replace(call: CommandCall, ...given: [string, string, ReplaceOptions]): Promise<void> {
  const [oldText, newText, { force, ...options }] = given;
  const old = await findAgent(call.client, oldText);
  const fresh = await findAgent(call.client, newText);
  if (old.node_id === fresh.node_id)
    throw new UsageError(
      `Both are ${old.name ?? old.hostname}, ${old.node_id}: give the node_id of the new one, as \`agents list --status pending\` has it.`,
    );
  const what = `Have ${describe(fresh)} take the place of ${describe(old)}, whose key is kept out for good`;
  await makeSure(call, options, what);
  const agent = await call.client.agents.replace(old.node_id, { by: fresh.node_id, ...(force && { force }) });
  call.show(agent, () =>
    toLines([toLine(`${agent.name ?? agent.node_id} is ${agent.node_id} from now on.`)]),
  );
}

function describe({ name, hostname, node_id, status, last_seen_at }: Agent): string {
  return `${name ?? hostname} (${node_id}, ${status}, last seen ${last_seen_at})`;
}
