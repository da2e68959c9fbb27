import type { Bug } from "./bugs.ts";

const faults = ["test/operations/dispatch-faults.test.ts"];
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
    from: `page.items.find((item) => item.value.status !== "running")?.key`,
    to: `page.items[0]?.key`,
    tests: records,
  },
  {
    name: "the drift of an agent that was removed and is taken in again is never told",
    file: "lib/drift/drift-service.ts",
    from: `forget: (nodeId) => [{ kind: "delete", collection: "drift_states", key: nodeId }],`,
    to: ``,
    tests: records,
  },
];
