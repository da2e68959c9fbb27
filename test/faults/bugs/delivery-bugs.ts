import type { Bug } from "./bugs.ts";

const simulation = ["test/simulation/simulation.test.ts"];
/** For what only a rare order of events shows: ten times as many as usual. */
const rare = "0-199";
const journal = "lib/agent/operation-journal.ts";
const dispatcher = "lib/operations/dispatcher.ts";

/** Bugs by which an operation runs twice, never ends or loses its result: the simulation of a fleet must find each. */
export const deliveryBugs: readonly Bug[] = [
  {
    name: "the agent does not look whether it knows an operation",
    file: "lib/agent/operation-runner.ts",
    from: `    if (journal.knows(command.operation_id)) return;\n`,
    tests: simulation,
  },
  {
    name: "an operation that was acknowledged is forgotten with its id",
    file: journal,
    from: `    return this.#open.has(operationId) || this.#acknowledged.has(operationId);`,
    to: `    return this.#open.has(operationId);`,
    tests: simulation,
    seeds: rare,
  },
  {
    name: "a result is forgotten when it was sent, not when it was acknowledged",
    file: "lib/agent/result-delivery.ts",
    from: `      if (result) send(result);`,
    to: `      if (result && send(result)) journal.acknowledge(operationId);`,
    tests: simulation,
  },
  {
    name: "the acceptance of an operation is not written before it runs",
    file: journal,
    from: `      this.#kept.makingRoom(() => createFile(path, line));`,
    to: `      void line;\n      void createFile;`,
    tests: simulation,
  },
  {
    name: "what was cut off does not end at the next start",
    file: "lib/agent/recovery.ts",
    from: `    journal.interrupt(operation.operation_id, error ? toPeerError(error) : undefined);\n`,
    to: `    void (error && toPeerError(error));\n`,
    tests: simulation,
  },
  {
    name: "results of an operation that was cut off are not kept",
    file: journal,
    from: `const lines = results.map((result) => toLine({ record: "result", result }));`,
    to: `const lines = results.slice(0, 0).map((result) => toLine({ record: "result", result }));`,
    tests: simulation,
  },
  {
    name: "deadlines go by the wall clock of the machine",
    file: "lib/agent/agent.ts",
    from: `this.#orchestratorStartMs + clock.monotonic();`,
    to: `clock.now();`,
    tests: simulation,
  },
  {
    name: "the next operation is sent while one runs",
    file: dispatcher,
    from: `          if (lane.running || this.#stopped) return;`,
    to: `          if (this.#stopped) return;`,
    tests: simulation,
  },
  {
    name: "the newest that waits is sent first",
    file: "lib/operations/lanes.ts",
    from: `    queue.push(operation_id);`,
    to: `    queue.unshift(operation_id);`,
    tests: simulation,
  },
  {
    name: "a restart forgets the operations that ran",
    file: dispatcher,
    from: `      if (operation.status === "running") this.#await(operation);\n      else this.#enqueue(operation);`,
    to: `      if (operation.status === "queued") this.#enqueue(operation);`,
    tests: simulation,
  },
  {
    name: "what runs is not sent again when its agent comes back",
    file: dispatcher,
    from: `    if (operation?.status === "running") await this.#tell(operation);\n`,
    tests: simulation,
  },
  {
    name: "a result is acknowledged before it is on disk",
    file: "lib/operations/agent-answers.ts",
    from: `    await this.#parts.end(operation_id, await this.#parts.told.result(operation, message));`,
    to: `    void this.#parts.told.result(operation, message).then((told) => this.#parts.end(operation_id, told)).catch(() => {});`,
    tests: simulation,
    seeds: rare,
  },
  {
    name: "nobody waits for the deadline of an operation",
    file: "lib/operations/sweeper.ts",
    from: `    if (!isTooEarly) failures.push(...(await this.#endDue(deadlines, now)));\n`,
    tests: simulation,
  },
  {
    name: "an unknown operation is not corrected",
    file: "lib/operations/outcomes.ts",
    from: `  return status === "queued" || status === "running" || isOpenEnd;`,
    to: `  return status === "queued" || status === "running";`,
    tests: simulation,
  },
  {
    name: "an ended operation ends again with each result that comes",
    file: "lib/operations/outcomes.ts",
    from: `  return status === "queued" || status === "running" || isOpenEnd;`,
    to: `  return status !== undefined;`,
    tests: simulation,
  },
];
