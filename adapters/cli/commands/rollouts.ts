import type { Command } from "commander";
import type { Rollout, RolloutDetail, RolloutMember } from "fleetwright";
import type { Client } from "../../client/client.ts";
import type { Input } from "../../client/inputs.ts";
import { collect } from "../call.ts";
import type { CommandCall, Run } from "../call.ts";
import type { TableView } from "../cells.ts";
import { UsageError } from "../failure.ts";
import { findRollout, withSuggestion } from "../find-id.ts";
import { integer, limitOption } from "../options.ts";
import { describeStrategy } from "../rollout-options.ts";
import { describeGroups } from "../show-groups.ts";
import { idColumn, timeColumn, toFacts, toLine, toLines, toTable } from "../text.ts";
import type { Column } from "../text.ts";
import { watchRollout } from "../watch-rollout.ts";

/** As they were typed: whether there is such a status is for the server to say. */
type ListOptions = Pick<Input<"listRolloutsInput">, "assignment" | "status" | "limit">;
type MemberOptions = Pick<Input<"listMembersInput">, "status" | "changes" | "limit">;

/** `fleetwright rollouts ...` */
export function addRolloutsCommands(program: Command, run: Run): void {
  const rollouts = program
    .command("rollouts")
    .description("assignments and commands on their way through the fleet");
  rollouts
    .command("list")
    .description("list rollouts, newest first")
    .option("--assignment <name>", "only those of one assignment")
    .option("--status <status>", "only those with this status")
    .option(...limitOption)
    .action(
      run((call, options: ListOptions) =>
        withSuggestion(call, { assignment: options.assignment }, () =>
          call.showList(call.client.rollouts.list, { ...options }, columns),
        ),
      ),
    );
  rollouts
    .command("show <rollout>")
    .description("show how far a rollout is, and its agents; of many, the first that failed")
    .option("--agents <number>", "show the first so many agents", integer(0, mostAgents))
    .action(
      run(async (call, typed: string, { agents }: { agents?: number }) => {
        const rolloutId = await findRollout(call.client, typed);
        const rollout = await call.client.rollouts.get(rolloutId, { show_agents: agents ?? fewAgents });
        const failed = rollout.truncated && agents === undefined ? await firstFailed(call, rollout) : null;
        call.show(rollout, (view) => describeRollout(rollout, failed, view));
      }),
    );
  rollouts
    .command("agents <rollout>")
    .description("list the agents of a rollout, in the order in which they are begun")
    .option("--status <status>", "only those with this status")
    .option("--changes <group>", "only those of one group, as `rollouts changes --json` names it")
    .option(...limitOption)
    .action(
      run(async (call, typed: string, options: MemberOptions) => {
        const rolloutId = await findRollout(call.client, typed);
        const list = (query: MemberOptions) => call.client.rollouts.agents(rolloutId, query);
        await call.showList(list, { ...options }, memberColumns);
      }),
    );
  addProgressCommands(rollouts, run);
  for (const [verb, does] of verbs) {
    rollouts
      .command(`${verb} <rollout>`)
      .description(does)
      .action(
        run(async (call, typed: string) => {
          const rolloutId = await findRollout(call.client, typed);
          const rollout = await change(call.client, verb, rolloutId);
          call.show(rollout, () => toLines([`${rolloutId} is ${rollout.status}.`]));
        }),
      );
  }
}

/** Without its agents: nobody asked for them. */
async function change(
  { rollouts, runs }: Client,
  verb: (typeof verbs)[number][0],
  rolloutId: string,
): Promise<RolloutDetail> {
  const how = { show_agents: 0 };
  const isOfRun = verb === "cancel" && (await rollouts.get(rolloutId, how)).kind === "run";
  if (!isOfRun) return rollouts[verb](rolloutId, how);
  // Whoever cancels a command means what runs on the machines.
  await runs.cancel(rolloutId);
  return rollouts.get(rolloutId, how);
}

/** What a rollout comes to. */
function addProgressCommands(rollouts: Command, run: Run): void {
  rollouts
    .command("changes <rollout>")
    .description(
      "show what a rollout changed, or would change: agents with equal changes together, smallest group first",
    )
    .option(...limitOption)
    .action(
      run(async (call, typed: string, { limit }: { limit?: number }) => {
        const rolloutId = await findRollout(call.client, typed);
        const list = (query: object) => call.client.rollouts.changes(rolloutId, query);
        const rollout = await call.client.rollouts.get(rolloutId, { show_agents: 0 });
        if (rollout.kind === "run")
          throw new UsageError(`A run changes nothing that is declared; see \`runs show ${rolloutId}\`.`);
        const page = await collect(list, { ...(limit !== undefined && { limit }) });
        call.show(page, () => describeGroups(rollout, { groups: page.items, further: 0 }));
        if (page.next_cursor !== null && !call.options.json)
          call.context.stderr(`There are more than ${page.items.length}; --limit shows more.\n`);
      }),
    );
  rollouts
    .command("watch <rollout>")
    .description("follow a rollout to its end, then show what it came to; the exit code is that of the end")
    .action(run(async (call, typed: string) => watchRollout(call, await findRollout(call.client, typed))));
}

/** Of so many agents each is shown. */
const fewAgents = 20;
/** As many as the server names at once. */
const mostAgents = 1_000;
/** Of more only so many that failed are. */
const mostFailed = 10;

const failures = ["failed", "partial", "timed_out", "interrupted", "unknown", "stale"] as const;

/** The first agents on which it failed, in the order of {@link failures}. */
async function firstFailed(
  { client }: CommandCall,
  { rollout_id, counts }: RolloutDetail,
): Promise<RolloutMember[]> {
  const found: RolloutMember[] = [];
  const list = (query: object): ReturnType<Client["rollouts"]["agents"]> =>
    client.rollouts.agents(rollout_id, query);
  for (const status of failures) {
    const limit = Math.min(mostFailed - found.length, counts[status] ?? 0);
    if (limit > 0) found.push(...(await collect(list, { status, limit })).items);
  }
  return found;
}

const verbs = [
  ["pause", "begin no further agent; what was begun goes on"],
  ["resume", "go on with a paused rollout"],
  [
    "cancel",
    "end a rollout; what runs on a machine is finished there, but for a command, which is ended there, too",
  ],
] as const;

const columns: readonly Column<Rollout>[] = [
  ["ROLLOUT", ({ rollout_id }) => rollout_id, idColumn],
  ["WHAT", ({ assignment, command }) => assignment ?? command],
  ["KIND", ({ kind }) => kind],
  ["STATUS", ({ status }) => status],
  ["BATCH", ({ batch, batches }) => `${batch}/${batches}`],
  ["AGENTS", (rollout) => describeCounts(rollout)],
  ["CREATED", ({ created_at }) => created_at, timeColumn],
];

function describeRollout(
  rollout: RolloutDetail,
  failed: readonly RolloutMember[] | null,
  view: TableView,
): string {
  const facts = toFacts([
    ["rollout", rollout.rollout_id],
    ["assignment", rollout.assignment],
    ["command", rollout.command],
    ["status", rollout.status],
    ["reason", rollout.reason],
    ["strategy", describeStrategy(rollout.rollout)],
    ["batch", `${rollout.batch} of ${rollout.batches}`],
    ["next batch", rollout.next_batch_at],
    ["agents", describeCounts(rollout)],
  ]);
  const { truncated, matched, operations, rollout_id } = rollout;
  const shown = failed ?? operations;
  const what = failed ? "These failed first" : "These are the first";
  const of = shown.length > 0 ? `${what}; ` : "";
  const all = `\`fleetwright rollouts agents ${rollout_id}\` lists all ${matched}.`;
  const rest = truncated ? toLines([of + all]) : "";
  return facts + (shown.length > 0 ? toTable(shown, memberColumns, view) : "") + rest;
}

const memberColumns: readonly Column<RolloutMember>[] = [
  ["AGENT", ({ name }) => name],
  ["BATCH", ({ batch }) => batch],
  ["STATUS", ({ status }) => status],
  ["RESULT", ({ summary }) => (summary === "" ? undefined : summary)],
  ["OPERATION", ({ operation_id }) => operation_id, idColumn],
];

/** Counts that are not zero, e.g. "3 succeeded, 1 failed". */
function describeCounts({ counts }: Rollout): string {
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  return toLine(told.map(([status, count]) => `${count} ${status.replace("_", " ")}`).join(", "));
}
