import type { Bug } from "./bugs.ts";

const applied = "lib/operations/applied-modules.ts";
const dispatcher = "lib/operations/dispatcher.ts";
const overtaken = ["test/operations/overtaken.test.ts"];
const dispatching = ["test/operations/dispatch-faults.test.ts"];

/** Bugs of what the features of the server make of ends that nobody wanted, of restarts, and of two wishes at once. */
export const featureBugs: readonly Bug[] = [
  {
    name: "a module that is to go and did not counts as there",
    file: applied,
    from: `applied && !leaving ? name : []`,
    to: `applied ? name : []`,
    tests: ["test/operations/scope.test.ts"],
  },
  {
    name: "a removal that was interrupted counts as one that failed",
    file: applied,
    from: `    if (end === "doubtful") after.set(name, { ...before, doubtful: true });\n    else if (isApplied`,
    to: `    if (isApplied`,
    tests: overtaken,
  },
  {
    name: "an apply of the same that was interrupted has nobody repair a module again",
    file: applied,
    from: `    if (end === "doubtful" && isStillWhole) continue;\n`,
    tests: overtaken,
  },
  {
    name: "a removal that failed overtakes the next one in line",
    file: applied,
    from: `return module && !module.leaving && module.operation_id !== operationId;`,
    to: `return module && module.operation_id !== operationId;`,
    tests: overtaken,
  },
  {
    name: "what calls named is compared by how much it is",
    file: applied,
    from: `  if (!isSameNaming(Object.fromEntries(named), grounds.named)) return true;`,
    to: `  if (named.length !== Object.keys(grounds.named).length) return true;`,
    tests: overtaken,
  },
  {
    name: "an agent that takes everything for late is let go again and again",
    file: "lib/operations/agent-answers.ts",
    from: `      running.isDoubted = true;\n`,
    tests: dispatching,
  },
  {
    name: "a wish to cancel that an agent takes for late is lost",
    file: "lib/operations/agent-answers.ts",
    from: `(id !== running.commandId && id !== running.cancelId)`,
    to: `id !== running.commandId`,
    tests: dispatching,
  },
  {
    name: "a restart forgets a wish to cancel what waits",
    file: dispatcher,
    from: `    else if (operation.cancel_requested === true) await this.#end(operationId, cancelled);\n`,
    tests: dispatching,
  },
  {
    name: "a result is awaited for as long as a wrong clock said",
    file: dispatcher,
    from: `      this.#work.do(() => bringNear(this.#context, this.#store, operation));\n`,
    tests: dispatching,
  },
  {
    name: "old applies go although their modules are what a machine has",
    file: "lib/operations/operation-retention.ts",
    from: `    if (Object.values(state?.modules ?? {}).some((module) => module.operation_id === operation_id))\n      return true;\n`,
    tests: ["test/operations/operation-retention.test.ts"],
  },
  {
    name: "operations of a rollout go while it is paused",
    file: "lib/operations/operation-retention.ts",
    from: `    if (await this.#isRolloutOpen(rollout_id)) return true;\n`,
    tests: ["test/operations/operation-retention.test.ts"],
  },
  {
    name: "one of two assignments lets a repair remove what the other holds",
    file: "lib/drift/enforcement.ts",
    from: `assignments.some(({ unattended_removals })`,
    to: `assignments.every(({ unattended_removals })`,
    tests: ["test/drift/enforced-scope.test.ts"],
  },
  {
    name: "groups that could not be written are written never",
    file: "lib/rollouts/group-writer.ts",
    from: `          this.#groups.giveBack(taken);\n`,
    tests: ["test/rollouts/rollout-groups.test.ts"],
  },
  {
    name: "output that a run cuts looks whole",
    file: "lib/runs/run-groups.ts",
    from: `truncated: truncated || text.length > shownCharacters`,
    to: `truncated`,
    tests: ["test/runs/runs.test.ts"],
  },
  {
    name: "a plan that goes on holds up the rollout that is due",
    file: "lib/rollouts/rollout-service.ts",
    from: `assignment === name && kind === "apply"`,
    to: `assignment === name`,
    tests: ["test/rollouts/scheduled-rollouts.test.ts"],
  },
  {
    name: "answers that are kept with their effect have no bound",
    file: "lib/idempotency/idempotency-service.ts",
    from: `Math.max(0, Math.min(longestAnswer, mostBytes - kept.bytes))`,
    to: `longestAnswer`,
    tests: ["test/idempotency/idempotency.test.ts"],
  },
  {
    name: "a rollout pauses for as long as a wrong clock wrote",
    file: "lib/rollouts/rollout-run.ts",
    from: `Math.min(not_before - context.fleetTime.now(), (strategy.pause_seconds ?? 0) * 1000)`,
    to: `not_before - context.fleetTime.now()`,
    tests: ["test/rollouts/restart.test.ts"],
  },
  {
    name: "the first pause of a rollout that is over stands for all of them",
    file: "lib/rollouts/rollout-run.ts",
    from: `this.#pauseOver >= batch`,
    to: `this.#pauseOver >= 0`,
    tests: ["test/rollouts/restart.test.ts"],
  },
  {
    name: "a passing fault of the storage has a rollout leave an agent out as stale",
    file: "lib/rollouts/member-requests.ts",
    from: `plan === undefined || !isLasting(error)`,
    to: `plan === undefined`,
    tests: ["test/rollouts/failed-reads.test.ts"],
  },
  {
    name: "a newer revision that failed stands for one that is in place",
    file: applied,
    from: `module.applied.revision > revision`,
    to: `module.revision > revision`,
    tests: overtaken,
  },
  {
    name: "a check of which it is known late how it ended is news",
    file: "lib/drift/drift-service.ts",
    from: `isCorrection && (await this.newestOf(node_id)) !== operation_id`,
    to: `false`,
    tests: ["test/drift/scheduled-checks.test.ts"],
  },
  {
    name: "drift is never put back where a clock was ahead once",
    file: "lib/drift/enforcement.ts",
    from: `now >= last_at && `,
    tests: ["test/drift/enforcement.test.ts"],
  },
  {
    name: "what was told of a removed window stays for ever",
    file: "lib/maintenance/window-rounds.ts",
    from: `if (!stored) return this.#commit(write);`,
    to: `if (!stored) return;`,
    tests: ["test/maintenance/told-once.test.ts"],
  },
  {
    name: "a journal of samples that found no space has the one before written over",
    file: "lib/storage/file/series/head-journal.ts",
    from: `      this.#size = before.size;\n`,
    tests: ["test/storage/file/series/full-journal.test.ts"],
  },
  {
    name: "a channel that fails is well with the first attempt for the next message",
    file: "lib/notifications/channels/outbox.ts",
    from: `: wasFailing || after.status`,
    to: `: after.status`,
    tests: ["test/notifications/channels/outbox.test.ts"],
  },
  {
    name: "what waited while a channel was disabled waits on when it is enabled",
    file: "lib/notifications/channels/outbox.ts",
    from: `      if (document) this.#wake(key);\n`,
    tests: ["test/notifications/channels/outbox.test.ts"],
  },
];
