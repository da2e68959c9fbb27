import type { Command } from "commander";
import type { Rollout, RolloutDetail, RolloutMember } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import type { Run } from "../call.ts";
import { limitOption } from "../options.ts";
import { describeStrategy } from "../rollout-options.ts";
import { toFacts, toLine, toLines, toTable } from "../text.ts";
import type { Column } from "../text.ts";

/** As they were typed: whether there is such a status is for the server to say. */
type ListOptions = Pick<Input<"listRolloutsInput">, "assignment" | "status" | "limit">;
type MemberOptions = Pick<Input<"listMembersInput">, "status" | "limit">;

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
      run(async (call, rolloutId: string) => {
        const rollout = await call.client.rollouts.get(rolloutId);
        call.show(rollout, () => describeRollout(rollout));
      }),
    );
  rollouts
    .command("agents <rollout>")
    .description("list the agents of a rollout, in the order in which they are begun")
    .option("--status <status>", "only those with this status")
    .option(...limitOption)
    .action(
      run((call, rolloutId: string, options: MemberOptions) =>
        call.showList(
          (query) => call.client.rollouts.agents(rolloutId, query),
          { ...options },
          memberColumns,
        ),
      ),
    );
  for (const [verb, does] of verbs) {
    rollouts
      .command(`${verb} <rollout>`)
      .description(does)
      .action(
        run(async (call, rolloutId: string) => {
          const rollout = await call.client.rollouts[verb](rolloutId);
          call.show(rollout, () => toLines([`${rolloutId} is ${rollout.status}.`]));
        }),
      );
  }
}

const verbs = [
  ["pause", "begin no further agent; what was begun goes on"],
  ["resume", "go on with a paused rollout"],
  ["cancel", "end a rollout; what runs on a machine ends there"],
] as const;

const columns: readonly Column<Rollout>[] = [
  ["ROLLOUT", ({ rollout_id }) => rollout_id],
  ["WHAT", ({ assignment, command }) => assignment ?? command],
  ["KIND", ({ kind }) => kind],
  ["STATUS", ({ status }) => status],
  ["BATCH", ({ batch, batches }) => `${batch}/${batches}`],
  ["AGENTS", (rollout) => describeCounts(rollout)],
  ["CREATED", ({ created_at }) => created_at],
];

function describeRollout(rollout: RolloutDetail): string {
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
  return facts + toTable(rollout.operations, memberColumns) + rest;
}

const memberColumns: readonly Column<RolloutMember>[] = [
  ["AGENT", ({ name }) => name],
  ["BATCH", ({ batch }) => batch],
  ["STATUS", ({ status }) => status],
  ["RESULT", ({ summary }) => (summary === "" ? undefined : summary)],
  ["OPERATION", ({ operation_id }) => operation_id],
];

/** Counts that are not zero, e.g. "3 succeeded, 1 failed". */
function describeCounts({ counts }: Rollout): string {
  const told = Object.entries(counts).filter(([, count]) => count > 0);
  return toLine(told.map(([status, count]) => `${count} ${status.replace("_", " ")}`).join(", "));
}
