import type { Bug } from "./bugs.ts";

const restores = ["test/restores"];
const epochs = "lib/epochs.ts";

/** Bugs by which a restored server does something twice, or two servers of one backup are obeyed. */
export const restoreBugs: readonly Bug[] = [
  {
    name: "a restored server goes on by itself",
    file: epochs,
    from: `    return restore !== undefined && restore.resumed_at === undefined;`,
    to: `    return restore !== undefined && restore.resumed_at === "";`,
    tests: restores,
  },
  {
    name: "a start takes the restore before for news again",
    file: epochs,
    from: `note !== null && stored?.value.restore?.restore_id !== note.restore_id`,
    to: `stored?.value.restore?.restore_id !== undefined || note !== null`,
    tests: restores,
  },
  {
    name: "what ran in the backup is sent again",
    file: "lib/operations/dispatcher.ts",
    from: `    if (!this.#context.epochs.isBefore(operation)) await this.#commandAgain(operation);\n    else if`,
    to: `    await this.#command(operation);\n    if`,
    tests: restores,
  },
  {
    name: "what waited in the backup is not asked about",
    file: "lib/operations/inquiries.ts",
    from: `(isOpen(operation) && this.#epochs.isBefore(operation))`,
    to: `(operation.status === "running" && isOpen(operation) && this.#epochs.isBefore(operation))`,
    tests: restores,
  },
  {
    name: "what waited in the backup ends as if it had not run, although its agent was not asked",
    file: "lib/operations/inquiries.ts",
    from: `outcome.onlyQueued === true && this.#unanswered.has(operationId)`,
    to: `outcome.onlyQueued === true && operationId === ""`,
    tests: restores,
  },
  {
    name: "what waited in the backup begins before the word",
    file: "lib/operations/dispatcher.ts",
    from: `isHeld: this.#context.epochs.isHeld(operation) `,
    to: `isHeld: this.#context.epochs.isHeld({ epoch: Infinity }) `,
    tests: restores,
  },
  {
    name: "a rollout of the backup goes on before the word",
    file: "lib/rollouts/rollout-run.ts",
    from: ` || this.#parts.context.epochs.isHeld(rollout)`,
    tests: restores,
  },
  {
    name: "due times are carried out before the word",
    file: "lib/rollouts/scheduled-rollouts.ts",
    from: `    if (this.#context.epochs.isPaused) return null;\n`,
    tests: restores,
  },
  {
    name: "due times that have passed are carried out after the word",
    file: "lib/restores/restores.ts",
    from: `[write, ...writes], ...events, {`,
    to: `[write], ...events, {`,
    tests: restores,
  },
  {
    name: "drift is enforced before the word",
    file: "lib/drift/enforcement.ts",
    from: `    if (this.#context.epochs.isPaused) return;\n`,
    tests: restores,
  },
  {
    name: "drift is looked for before the word",
    file: "lib/drift/scheduled-checks.ts",
    from: `    if (this.#context.epochs.isPaused) return;\n`,
    tests: restores,
  },
  {
    name: "an agent obeys an older epoch",
    file: "lib/agent/followed-epoch.ts",
    from: `    if (order < 0) {`,
    to: `    if (order < -Infinity) {`,
    tests: [...restores, "test/agent/followed-epoch.test.ts"],
  },
  {
    name: "a server takes in an agent that follows a newer one",
    file: "lib/agent-traffic.ts",
    from: `  if (!epochs.isSuperseded(epoch)) return`,
    to: `  if (!epochs.isSuperseded(epoch) || epoch) return`,
    tests: restores,
  },
  {
    name: "what waits in a backup begins before its agent has answered",
    file: "lib/operations/inquiries.ts",
    from: `    return this.#unanswered.has(operationId);`,
    to: `    return false;`,
    tests: restores,
  },
  {
    name: "an agent never heard of what it has forgotten",
    file: "lib/agent/operation-journal.ts",
    from: `return this.#acknowledged.mayHaveForgotten(operationId);`,
    to: `return false;`,
    tests: restores,
  },
  {
    name: "a server stays superseded by an agent that is back",
    file: "lib/agent-traffic.ts",
    from: `available: forget, `,
    to: `available() {}, `,
    tests: restores,
  },
  {
    name: "what was acknowledged is not kept",
    file: "lib/agent/operation-journal.ts",
    from: `    this.#unwritten.delete(operationId);\n    this.#kept.keep(operationId, this.#pathOf(operationId));`,
    to: `    this.#unwritten.delete(operationId);\n    removeFile(this.#pathOf(operationId));`,
    tests: restores,
  },
];
