import type { Command } from "commander";
import type { Rollout, RolloutDetail, RolloutMember } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import { collect } from "../call.ts";
import type { Run } from "../call.ts";
import type { TableView } from "../cells.ts";
import { UsageError } from "../failure.ts";
import { findRollout } from "../find-id.ts";
import { limitOption } from "../options.ts";
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
      run((call, options: ListOptions) => call.showList(call.client.rollouts.list, { ...options }, columns)),
    );
  rollouts
    .command("show <rollout>")
    .description("show how far a rollout is, and each of its agents")
    .action(
      run(async (call, typed: string) => {
        const rollout = await call.client.rollouts.get(await findRollout(call.client, typed));
        call.show(rollout, (view) => describeRollout(rollout, view));
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
          const rollout = await call.client.rollouts[verb](rolloutId);
          call.show(rollout, () => toLines([`${rolloutId} is ${rollout.status}.`]));
        }),
      );
  }
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

const verbs = [
  ["pause", "begin no further agent; what was begun goes on"],
  ["resume", "go on with a paused rollout"],
  ["cancel", "end a rollout; what runs on a machine ends there"],
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

function describeRollout(rollout: RolloutDetail, view: TableView): string {
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
  const rest = rollout.truncated ? toLines(["These are the first; `rollouts agents` lists all."]) : "";
  return facts + toTable(rollout.operations, memberColumns, view) + rest;
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
