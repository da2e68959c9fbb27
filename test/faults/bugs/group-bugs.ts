import type { Bug } from "./bugs.ts";

const groups = ["test/rollouts/rollout-groups.test.ts"];
const plans = ["test/rollouts/planned-rollout.test.ts"];

/** Bugs by which a rollout tells agents together that differ, miscounts them, or applies something else than was planned. */
export const groupBugs: readonly Bug[] = [
  {
    name: "agents are told apart by how long it took",
    file: "lib/operations/said-results.ts",
    from: `duration_ms: _took, attempts: _tries,`,
    to: `attempts: _tries,`,
    tests: groups,
  },
  {
    name: "agents are told apart by the order in which their resources were done",
    file: "lib/operations/said-results.ts",
    from: `  said.sort();\n`,
    tests: groups,
  },
  {
    name: "an agent that turns up after the end stays in the group of those that were not heard",
    file: "lib/rollouts/rollout-corrections.ts",
    from: `    ...(left ? [withAgents(left, -1)] : []),\n`,
    tests: groups,
  },
  {
    name: "groups are written at the end of a rollout alone",
    file: "lib/rollouts/rollout-run.ts",
    from: `    this.progress.note(operation);\n    this.#groups.later();\n`,
    to: `    this.progress.note(operation);\n`,
    tests: groups,
  },
  {
    name: "an agent that a plan does not match any more gets it all the same",
    file: "lib/operations/stored-plans.ts",
    from: `      if (!isMatched) throw stale(plan, "the assignment does not match the agent any more");\n`,
    to: `      if (isMatched === null) throw stale(plan, "");\n`,
    tests: plans,
  },
  {
    name: "a plan of other revisions is applied",
    file: "lib/rollouts/rollout-beginnings.ts",
    from: `    if (plan) requireSameModules(plan.rollout, modules);\n`,
    tests: plans,
  },
  {
    name: "an agent that was left out counts as a failure",
    file: "lib/rollouts/progress.ts",
    from: `  return isStale(operation) ? "stale" : operation.status;`,
    to: `  return operation.status;`,
    tests: plans,
  },
];
