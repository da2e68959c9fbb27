import { Option } from "commander";
import type { Command } from "commander";
import type { Agent } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import { askerOf, confirm, firstLines, yesOption } from "../ask.ts";
import { collect, type CommandCall, type Run } from "../call.ts";
import type { ExitCode } from "../context.ts";
import { approveAll, decideAll } from "../decide.ts";
import { UsageError } from "../failure.ts";
import { findAgent } from "../find-agent.ts";
import { limitOption } from "../options.ts";
import { toFacts, toLine, toLines, toTable } from "../text.ts";
import type { Column } from "../text.ts";

/** As they were typed: whether there is such a status is for the server to say. */
type ListOptions = Pick<
  Input<"listAgentsInput">,
  "status" | "selector" | "module" | "drift" | "search" | "limit"
> & {
  connected?: true;
  disconnected?: true;
  lastApply?: Input<"listAgentsInput">["last_apply"];
  agentVersion?: string;
  secretBefore?: string;
};

/** `fleetwright agents ...` */
export function addAgentsCommands(program: Command, run: Run): void {
  const agents = program.command("agents").description("the machines of the fleet");
  agents
    .command("list")
    .description("list agents")
    .option("--status <status>", "only pending, approved or rejected ones")
    .option("--selector <selector>", "only those that it matches")
    .option("--module <name>", "only those that have this module, as web, or in one revision, as web@2")
    .option(
      "--secret-before <name>",
      "only those that have a secret in an older version than this: db-password@3",
    )
    .option("--last-apply <status>", "only those whose newest apply ended so, as failed")
    .option("--drift <status>", "only those that were found in_sync, drifted or failed")
    .addOption(new Option("--connected", "only those that are connected").conflicts("disconnected"))
    .option("--disconnected", "only those that are not")
    .option("--agent-version <version>", "only those with this version of the agent")
    .option("--search <text>", "only those with this in their name")
    .option(...limitOption)
    .action(
      run((call, options: ListOptions) => call.showList(call.client.agents.list, toFilter(options), columns)),
    );
  agents
    .command("show <agent>")
    .description("show one agent")
    .action(
      run(async (call, text: string) => {
        const agent = await findAgent(call.client, text);
        call.show(agent, () => describeAgent(agent));
      }),
    );
  agents
    .command("attributes <agent>")
    .description("show what an agent tells of its machine")
    .option("--refresh", "have it look anew first")
    .action(
      run(async (call, text: string, { refresh = false }: { refresh?: boolean }) => {
        const { node_id } = await findAgent(call.client, text);
        const verbs = call.client.agents;
        const attributes = await (refresh ? verbs.refreshAttributes(node_id) : verbs.attributes(node_id));
        call.show(attributes, () => toTable(Object.entries(attributes.attributes), attributeColumns));
      }),
    );
  addDecisions(agents, run);
}

function toFilter({
  connected,
  disconnected,
  lastApply: last_apply,
  agentVersion: agent_version,
  secretBefore: secret_before,
  ...filter
}: ListOptions): Input<"listAgentsInput"> {
  return {
    ...filter,
    ...((connected ?? disconnected) && { connected: connected === true }),
    ...(last_apply !== undefined && { last_apply }),
    ...(agent_version !== undefined && { agent_version }),
    ...(secret_before !== undefined && { secret_before }),
  };
}

function addDecisions(agents: Command, run: Run): void {
  agents
    .command("approve [agent...]")
    .description("let agents into the fleet")
    .option("--name <name>", "its name, of one agent; default its hostname")
    .option("--all-pending", "all that wait; at a terminal it shows them and asks")
    .option(...yesOption)
    .action(
      run(async (call, names: string[], { name, allPending, yes }: ApproveOptions) => {
        if (allPending) return approvePending(call, { names, name, yes });
        if (names.length === 0) throw new UsageError("Name an agent, or say --all-pending.");
        if (name !== undefined && names.length > 1) throw new UsageError("A --name is for one agent.");
        const decision = { status: "approved" as const, ...(name !== undefined && { name }) };
        return decideAll(call, names, decision);
      }),
    );
  agents
    .command("reject <agent...>")
    .description("keep agents out")
    .action(run((call, names: string[]) => decideAll(call, names, { status: "rejected" })));
  agents
    .command("reject-pending")
    .description("keep out agents that wait to be approved")
    .option("--network <network>", "only those from this address or network, such as 203.0.113.0/24")
    .option("--disconnected", "only those that are not connected")
    .option("--all", "all that wait")
    .action(run(rejectPending));
  agents
    .command("remove <agent>")
    .description("forget a rejected agent")
    .action(
      run(async (call, text: string) => {
        const { node_id } = await findAgent(call.client, text);
        await call.client.agents.remove(node_id);
        call.show(null, () => toLines([`${node_id} is removed.`]));
      }),
    );
}

interface ApproveOptions {
  name?: string;
  allPending?: true;
  yes?: boolean;
}

/** Approves whoever waits when it is called: one that comes while somebody reads the list is not meant. */
async function approvePending(
  call: CommandCall,
  { names, name, yes }: { names: readonly string[]; name: string | undefined; yes: boolean | undefined },
): Promise<ExitCode> {
  if (names.length > 0 || name !== undefined)
    throw new UsageError("--all-pending is for all that wait, under the hostnames that they have.");
  const { items: pending } = await collect(call.client.agents.list, {
    status: "pending" as const,
    limit: Infinity,
  });
  const ask = askerOf(call, yes);
  if (ask !== null && pending.length > 0) {
    const lines = pending.map(({ node_id, hostname }) => toLine(`  ${node_id}  ${hostname}`));
    const question = `Approve ${pending.length === 1 ? "this agent" : `these ${pending.length} agents`}?`;
    await confirm(ask, { told: firstLines(lines), question, otherwise: "Nobody was approved." });
  }
  return approveAll(
    call,
    pending.map(({ node_id }) => node_id),
  );
}

async function rejectPending(
  call: CommandCall,
  options: { network?: string; disconnected?: true; all?: true },
): Promise<void> {
  const { network, disconnected, all } = options;
  if (network === undefined && !disconnected && !all)
    throw new UsageError("Say which: --network, --disconnected, or --all.");
  const filter = { ...(network !== undefined && { network }), ...(disconnected && { connected: false }) };
  let [rejected, remaining] = [0, 1];
  while (remaining > 0) {
    const part = await call.client.agents.rejectPending(filter);
    rejected += part.rejected;
    remaining = part.rejected === 0 ? 0 : part.remaining;
  }
  call.show({ rejected }, () => toLines([`Rejected: ${rejected}`]));
}

const columns: readonly Column<Agent>[] = [
  ["NODE", ({ node_id }) => node_id],
  ["NAME", ({ name }) => name],
  ["HOSTNAME", ({ hostname }) => hostname],
  ["STATUS", ({ status }) => status],
  ["CONNECTED", ({ connected }) => (connected ? "yes" : "no")],
  ["LAST APPLY", ({ last_apply }) => last_apply?.status],
  ["DRIFT", ({ drift }) => drift?.status],
  ["VERSION", ({ agent_version }) => agent_version],
  ["MODULES", ({ modules }) => describeModules(modules)],
  ["TAGS", ({ tags }) => describeTags(tags)],
];

const attributeColumns: readonly Column<[string, string | number | boolean]>[] = [
  ["ATTRIBUTE", ([name]) => name],
  ["VALUE", ([, value]) => String(value)],
];

function describeModules(modules: Agent["modules"] = {}): string | undefined {
  const references = Object.entries(modules).map(([name, revision]) => `${name}@${revision}`);
  return references.length === 0 ? undefined : references.join(" ");
}

function describeTags(tags: Agent["tags"]): string {
  return Object.entries(tags)
    .map(([key, value]) => `${key}=${value}`)
    .join(" ");
}

function describeAgent(agent: Agent): string {
  return toFacts([
    ["node_id", agent.node_id],
    ["name", agent.name],
    ["hostname", agent.hostname],
    ["status", agent.status],
    ["connected", agent.connected ? "yes" : "no"],
    ["platform", agent.platform],
    ["agent version", agent.agent_version],
    ["address", agent.remote_address],
    ["first seen", agent.first_seen_at],
    ["connected since", agent.connected_since],
    ["last seen", agent.last_seen_at],
    ["approved by", agent.approved_by],
    ["tags", describeTags(agent.tags)],
    ["last apply", agent.last_apply && `${agent.last_apply.status}, ${agent.last_apply.finished_at}`],
    ["drift", agent.drift && `${agent.drift.status}, ${agent.drift.checked_at}`],
    ["modules", describeModules(agent.modules)],
  ]);
}
