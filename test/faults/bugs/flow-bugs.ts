import type { Bug } from "./bugs.ts";

const dispatcher = "lib/operations/dispatcher.ts";
const cancelledBeginnings = ["test/operations/cancelled-beginnings.test.ts"];
const run = "lib/rollouts/rollout-run.ts";
const scheduled = "lib/rollouts/scheduled-rollouts.ts";
const lateNews = ["test/rollouts/late-news.test.ts"];
const pauses = ["test/rollouts/pause-between-batches.test.ts"];
const badDisk = ["test/rollouts/due-on-a-bad-disk.test.ts"];

/** Bugs of how work goes through the fleet: begun too early, taken for over, or given up for what passes. No test noticed them. */
export const flowBugs: readonly Bug[] = [
  {
    name: "a rollout whose last count could not be written at once is not left",
    file: run,
    from: `if (hasEnded(rollout.status)) return this.#leave();`,
    to: `if (hasEnded(rollout.status)) return false;`,
    tests: lateNews,
  },
  {
    name: "what becomes known while a rollout ends is not counted",
    file: run,
    from: `while (this.progress.edition !== this.#written) {`,
    to: `while (this.progress.edition < this.#written) {`,
    tests: lateNews,
  },
  {
    name: "what was counted in the last second of a process is not written after the next start",
    file: run,
    from: `this.progress.groups.recall(group);\n    this.#groups.later();`,
    to: `this.progress.groups.recall(group);`,
    tests: ["test/rollouts/idle-groups.test.ts"],
  },
  {
    name: "the pause between batches begins by the wall clock",
    file: run,
    from: `this.#parts.context.fleetTime.now() + (strategy`,
    to: `this.#parts.context.clock.now() + (strategy`,
    tests: pauses,
  },
  {
    name: "the pause between batches is over by the wall clock",
    file: run,
    from: `not_before - context.fleetTime.now()`,
    to: `not_before - context.clock.now()`,
    tests: pauses,
  },
  {
    name: "each look at the pause between batches waits for it once more",
    file: run,
    from: `    this.#timer?.cancel();\n    this.#timer = work`,
    to: `    this.#timer = work`,
    tests: pauses,
  },
  {
    name: "a rollout that has ended still waits for its next batch",
    file: run,
    from: `    this.#timer?.cancel();\n    this.#onEnd();`,
    to: `    this.#onEnd();`,
    tests: ["test/rollouts/rollout-ends.test.ts"],
  },
  {
    name: "an agent is refused since the storage failed",
    file: run,
    from: `error.retryable || error.code.startsWith("STORAGE_")) throw error;`,
    to: `error.retryable) throw error;`,
    tests: ["test/rollouts/failed-reads.test.ts"],
  },
  {
    name: "a scheduled rollout is passed over since the storage was out of reach",
    file: scheduled,
    from: `error.retryable || error.code.startsWith("STORAGE_")) throw error;`,
    to: `error.code.startsWith("STORAGE_")) throw error;`,
    tests: badDisk,
  },
  {
    name: "a scheduled rollout is passed over since the storage failed",
    file: scheduled,
    from: `error.retryable || error.code.startsWith("STORAGE_")) throw error;`,
    to: `error.retryable) throw error;`,
    tests: badDisk,
  },
  {
    name: "an operation fails since its command could not be read for a moment",
    file: dispatcher,
    from: `    await send().catch(() => this.#work.do(send));`,
    to: `    await send().catch(() => {});`,
    tests: ["test/operations/unread-command.test.ts"],
  },
  {
    name: "an operation that can't be sent at all, as is known at the second try, waits for its deadline",
    file: dispatcher,
    from: `    await this.#command(operation).catch((error: unknown) => this.#end(operationId, unsent(error)));\n`,
    to: `    await this.#command(operation).catch((error: unknown) => void unsent(error));\n`,
    tests: ["test/operations/unread-command.test.ts"],
  },
  {
    name: "an operation begins that was cancelled in that moment",
    file: dispatcher,
    from: `before.status === "queued" && !this.held.holds(before)`,
    to: `!this.held.holds(before)`,
    tests: cancelledBeginnings,
  },
  {
    name: "an operation that did not begin keeps the line of its agent",
    file: dispatcher,
    from: `    if (!changed) return;\n    this.#await`,
    to: `    this.#await`,
    tests: cancelledBeginnings,
  },
  {
    name: "what waits for an agent that is away is not held when a window begins",
    file: dispatcher,
    from: `    parts.maintenance.watch(() => this.#takeAll());\n`,
    tests: ["test/operations/frozen-while-waiting.test.ts"],
  },
  {
    name: "a scheduled rollout that could not begin is not tried again soon, where the last that was due could",
    file: scheduled,
    from: `hasFailed ||= outcome === "failed";`,
    to: `hasFailed = outcome === "failed";`,
    tests: badDisk,
  },
  {
    name: "a rollout waits for an agent for a minute where it does not say how long",
    file: "lib/rollouts/member-requests.ts",
    from: `const defaultQueueSeconds = 3600;`,
    to: `const defaultQueueSeconds = 60;`,
    tests: ["test/operations/queued-for-an-hour.test.ts"],
  },
  {
    name: "what an earlier version began, and nobody heard of, took no time",
    file: "lib/operations/outcomes.ts",
    from: `started_at === undefined ? fleetNow : Date.parse(started_at)`,
    to: `fleetNow`,
    tests: ["test/operations/told-ends.test.ts"],
  },
  {
    name: "runs are told apart by which stream was printed on first",
    file: "lib/operations/outcomes.ts",
    from: `    .toSorted(([a], [b]) => (a < b ? -1 : 1));`,
    to: `;`,
    tests: ["test/runs/run-groups.test.ts"],
  },
  {
    name: "an agent that refuses everything does so no longer once it takes a wish to cancel",
    file: "lib/operations/agent-answers.ts",
    from: `if (id === running?.commandId) this.#parts.lanes`,
    to: `if (running) this.#parts.lanes`,
    tests: ["test/operations/refusing-and-answering.test.ts"],
  },
  {
    name: "an agent that got no operation is in no group until something else happens",
    file: run,
    from: `    this.progress.refuse(refusals);\n    this.#groups.later();`,
    to: `    this.progress.refuse(refusals);`,
    tests: ["test/rollouts/idle-groups.test.ts"],
  },
];
