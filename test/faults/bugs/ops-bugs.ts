import type { Bug } from "./bugs.ts";

const faults = ["test/operations/dispatch-faults.test.ts"];
const putOff = ["test/drift/put-off-checks.test.ts"];
const ends = ["test/operations/told-ends.test.ts"];
const strategies = ["test/rollouts/strategy-of-each.test.ts"];
const records = ["test/drift/drift-records.test.ts"];

/** What is asked of machines, by whom, and what is kept and told of it. */
export const opsBugs: readonly Bug[] = [
  {
    name: "an agent is let go for a refusal that is right, since the deadline is over",
    file: "lib/operations/agent-answers.ts",
    from: `running.deadlineAt > this.#context.fleetTime.now()`,
    to: `running.deadlineAt < Infinity`,
    tests: faults,
  },
  {
    name: "what an agent never had is told in the words of its refusal",
    file: "lib/operations/agent-answers.ts",
    from: `isLate ? notRun : { status: "failed", error }`,
    to: `{ status: "failed", error }`,
    tests: faults,
  },
  {
    name: "an upload contradicts an assignment that another process makes in the same moment",
    file: "lib/assignments/assignment-agreement.ts",
    from: `return store(users.length > 0 ? [write] : []);`,
    to: `return store(write.kind === "put" ? [] : [write]);`,
    tests: ["test/assignments/assignment-agreement.test.ts"],
  },
  {
    name: "an assignment that is made anew is due when the one of its name that was removed would have been",
    file: "lib/assignments/assignments.ts",
    from: `[removal, ...due, ...also], event`,
    to: `[removal, ...due.slice(0, 0), ...also], event`,
    tests: ["test/assignments/assignment-views.test.ts"],
  },
  {
    name: "a strategy that is taken away from an assignment stays",
    file: "lib/assignments/assignments.ts",
    from: `      if (rollout === null) delete document.rollout;\n`,
    tests: ["test/assignments/assignment-views.test.ts"],
  },
  {
    name: "a check by hand takes the record of a scheduled one away",
    file: "lib/drift/conclusion.ts",
    from: `trigger !== "scheduled" || scheduled_id === undefined`,
    to: `scheduled_id === undefined`,
    tests: records,
  },
  {
    name: "a check that goes on hides what the newest found",
    file: "lib/drift/drift-service.ts",
    from: `const ended = page.find(({ value }) => value.status !== "running");`,
    to: `const [ended] = page;`,
    tests: records,
  },
  {
    name: "the drift of an agent that was removed and is taken in again is never told",
    file: "lib/drift/drift-service.ts",
    from: `forget: (nodeId) => [{ kind: "delete", collection: "drift_states", key: nodeId }],`,
    to: ``,
    tests: records,
  },
  {
    name: "a check that an apply puts off is put off for longer, the later its moment was",
    file: "lib/drift/scheduled-checks.ts",
    from: `+ afterApplyMs - sinceMs);`,
    to: `+ afterApplyMs);`,
    tests: putOff,
  },
  {
    name: "an agent that comes back loses the check that an apply put off",
    file: "lib/drift/scheduled-checks.ts",
    from: ` || this.#queue.has(nodeId)) return;`,
    to: `) return;`,
    tests: putOff,
  },
  {
    name: "a check for which there was no space is left out",
    file: "lib/drift/scheduled-checks.ts",
    from: `isOrchestratorError(error, "STORAGE_FULL") || !isOrchestratorError(error)`,
    to: `!isOrchestratorError(error)`,
    tests: putOff,
  },
  {
    name: "an assignment that its schedule applies goes to all agents at once",
    file: "lib/rollouts/rollout-beginnings.ts",
    from: `strategy = assignment.rollout ?? {}`,
    to: `strategy = {}`,
    tests: strategies,
  },
  {
    name: "an agent of a rollout may remove any number of things",
    file: "lib/rollouts/member-requests.ts",
    from: `      maxRemovals: strategy.max_removals,\n`,
    tests: strategies,
  },
  {
    name: "what a condition leaves out is told to be unapplied",
    file: "lib/operations/believed-state.ts",
    from: `resource.skip === undefined && !appliedKeys`,
    to: `!appliedKeys`,
    tests: ["test/operations/believed-modules.test.ts"],
  },
  {
    name: "an operation that somebody cancelled is told to have failed",
    file: "lib/operations/outcomes.ts",
    from: `const good = status === "succeeded" || status === "cancelled";`,
    to: `const good = status === "succeeded";`,
    tests: ends,
  },
  {
    name: "the end of a drift check is told as that of an operation",
    file: "lib/operations/outcomes.ts",
    from: `...(isListed(ended) ? [finishedEvent(ended)] : []), ...(added`,
    to: `finishedEvent(ended), ...(added`,
    tests: ends,
  },
  {
    name: "a drift check is read as an operation",
    file: "lib/operations/operations.ts",
    from: `    if (!isListed(operation)) throw notFound(operationId);\n    return operation;`,
    to: `    return isListed(operation) ? operation : { ...operation };`,
    tests: ends,
  },
  {
    name: "what an operation printed is read under another agent",
    file: "lib/operations/operations.ts",
    from: `if (operation.node_id !== node_id) throw`,
    to: `if (operation.node_id === "" && node_id !== "") throw`,
    tests: ends,
  },
  {
    name: "output is told to be cut where all of it is alone",
    file: "lib/operations/operations.ts",
    from: `truncated: output.some(`,
    to: `truncated: output.every(`,
    tests: ends,
  },
  {
    name: "what a call named can't be taken back where an assignment brings it",
    file: "lib/operations/scopes.ts",
    from: `if (assignment === undefined || isNamed) continue;`,
    to: `if (assignment === undefined) continue;`,
    tests: ["test/operations/unnamed-module.test.ts"],
  },
  {
    name: "what a call takes back goes from the machine though an assignment brings it",
    file: "lib/operations/scopes.ts",
    from: `unwanted.filter((name) => !desired.assignments.has(name));`,
    to: `[...unwanted];`,
    tests: ["test/operations/unnamed-module.test.ts"],
  },
];
