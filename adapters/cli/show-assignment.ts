/** Assignments, for people. */
import type { Assignment, AssignmentDetail } from "fleetwright";
import type { TableView } from "./cells.ts";
import { describeStrategy } from "./rollout-options.ts";
import { toFacts, toLines, toTable } from "./text.ts";
import type { Column } from "./text.ts";

/** An assignment, and below it what each of its agents has of its modules. */
export function describeAssignment(assignment: AssignmentDetail, view: TableView): string {
  const agents = assignment.matched_agents.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const facts = toFacts([
    ["name", assignment.name],
    ["description", assignment.description],
    ["selector", assignment.selector],
    ["modules", describeModules(assignment)],
    ["params", assignment.params && JSON.stringify(assignment.params)],
    ["rollout", describeStrategy(assignment.rollout ?? {})],
    ["schedule", assignment.schedule && `${assignment.schedule.cron} ${assignment.schedule.time_zone}`],
    ["next run", assignment.next_run_at],
    ["enforced", assignment.enforce ? "yes" : "no"],
    ["unattended removals", assignment.unattended_removals ? "yes" : "no"],
    ["agents", agents.length],
  ]);
  return agents.length === 0 ? facts : facts + toLines([""]) + toTable(agents, agentColumns, view);
}

/** Columns of a list of assignments. */
export const assignmentColumns: readonly Column<Assignment>[] = [
  ["ASSIGNMENT", ({ name }) => name],
  ["SELECTOR", ({ selector }) => selector],
  ["MODULES", describeModules],
  ["AGENTS", ({ matches }) => matches],
];

/** Which revisions an apply begun now would bring, e.g. "web@3 (pinned), base (latest: 5)". */
function describeModules({ modules, revisions }: Pick<Assignment, "modules" | "revisions">): string {
  const told = modules.map((module) => {
    const [name] = module.split("@");
    const brought = revisions.find((each) => each.name === name);
    if (!brought) return module;
    return brought.pinned ? `${name}@${brought.revision} (pinned)` : `${name} (latest: ${brought.revision})`;
  });
  return told.join(", ");
}

const agentColumns: readonly Column<AssignmentDetail["matched_agents"][number]>[] = [
  ["AGENT", ({ name }) => name],
  ["HAS", ({ revision_applied }) => describeApplied(revision_applied)],
];

/** Undefined where it has none of the modules. */
function describeApplied(revisions: Readonly<Record<string, number>>): string | undefined {
  const told = Object.entries(revisions).map(([name, revision]) => `${name}@${revision}`);
  return told.length === 0 ? undefined : told.join(", ");
}
