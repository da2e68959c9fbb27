import { Option } from "commander";
import type { Command } from "commander";
import type { Agent } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { findAgent } from "../find-agent.ts";
import { withSuggestion } from "../find-id.ts";
import { limitOption } from "../options.ts";
import { idColumn, toFacts, toLines, toTable, wideColumn } from "../text.ts";
import type { Column } from "../text.ts";
import { addAdmissionCommands } from "./admission.ts";

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
      run((call, options: ListOptions) => {
        const names = { module: options.module, secret: options.secretBefore };
        const list = () => call.showList(call.client.agents.list, toFilter(options), columns);
        return withSuggestion(call, names, list);
      }),
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
        call.show(attributes, (view) =>
          toTable(Object.entries(attributes.attributes), attributeColumns, view),
        );
      }),
    );
  addAdmissionCommands(agents, run);
  addRemovals(agents, run);
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

function addRemovals(agents: Command, run: Run): void {
  agents
    .command("reject-pending")
    .description("keep out agents that wait to be approved")
    .option("--network <network>", "only those from this address or network, such as 203.0.113.0/24")
    .option("--disconnected", "only those that are not connected")
    .option("--all", "all that wait")
    .option(...sureOption)
    .action(run(rejectPending));
  agents
    .command("remove <agent>")
    .description("forget a rejected agent")
    .option(...sureOption)
    .action(
      run(async (call, text: string, options: SureOptions) => {
        const { node_id, name = node_id } = await findAgent(call.client, text);
        await makeSure(call, options, `Remove the agent ${name}`);
        await call.client.agents.remove(node_id);
        call.show(null, () => toLines([`${node_id} is removed.`]));
      }),
    );
}

async function rejectPending(
  call: CommandCall,
  options: SureOptions & { network?: string; disconnected?: true; all?: true },
): Promise<void> {
  const { network, disconnected, all } = options;
  if (network === undefined && !disconnected && !all)
    throw new UsageError("Say which: --network, --disconnected, or --all.");
  await makeSure(call, options, "Reject all agents that wait and match");
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
  ["NODE", ({ node_id }) => node_id, idColumn],
  ["NAME", ({ name, hostname }) => name ?? hostname],
  ["HOSTNAME", ({ hostname }) => hostname, wideColumn],
  ["STATUS", ({ status }) => status],
  ["CONNECTED", ({ connected }) => (connected ? "yes" : "no")],
  ["LAST APPLY", ({ last_apply }) => last_apply?.status],
  ["DRIFT", ({ drift }) => drift?.status],
  ["VERSION", ({ agent_version }) => agent_version, wideColumn],
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
    ["replaced by", agent.replaced_by],
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
