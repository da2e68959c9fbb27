import type { Bug } from "./bugs.ts";

/** What goes wrong the second time alone, or between two steps that something else comes in between of. */
export const momentBugs: readonly Bug[] = [
  {
    name: "what was forgotten of a module comes back when more of it is forgotten",
    file: "lib/operations/state-recorder.ts",
    from: "[...(module.forgotten ?? []), ...forgottenOf(name)]",
    to: "forgottenOf(name)",
    tests: ["test/operations/forget.test.ts"],
  },
  {
    name: "a result that turns up late of one module is the newest that is known of its machine",
    file: "lib/operations/state-recorder.ts",
    from: `end !== "doubtful" && isNewest &&`,
    to: `end !== "doubtful" &&`,
    tests: ["test/operations/late-result.test.ts"],
  },
  {
    name: "whoever waits for the end of an operation is told what was read before it",
    file: "lib/operations/outcomes.ts",
    from: "if (found && newest === known) newest = found;",
    to: "if (found) newest = found;",
    tests: ["test/operations/unread-operation.test.ts"],
  },
  {
    name: "an agent that comes while its line is gone through gets nothing before more joins it",
    file: "lib/operations/dispatcher.ts",
    from: "while (lane.asked) {",
    to: "if (lane.asked) {",
    tests: ["test/operations/dispatch-faults.test.ts"],
  },
  {
    name: "commands that an agent takes are none of those between the ones that it refuses",
    file: "lib/operations/lanes.ts",
    from: "if (refusal === null) this.#refusing.forget(nodeId);",
    to: "if (refusal === null) return;",
    tests: ["test/status/status.test.ts"],
  },
  {
    name: "an agent that turns up in the moment in which its rollout ends stays one of which nothing was heard",
    file: "lib/rollouts/rollout-corrections.ts",
    from: "return { writes: [toPut(stored, rollout)] };",
    to: "return {};",
    tests: ["test/rollouts/rollout-ends.test.ts"],
  },
  {
    name: "a command that is cancelled runs on where that could not be written at once",
    file: "lib/rollouts/rollout-run.ts",
    from: `    if (cancelled_by && !this.#cancelled && this.progress.open > 0)
      await operations.cancelAll(toCaller(cancelled_by), this.rolloutId);
    this.#cancelled ||= cancelled_by !== undefined;
`,
    to: `    const isFirst = !this.#cancelled;
    this.#cancelled ||= cancelled_by !== undefined;
    if (cancelled_by && isFirst && this.progress.open > 0)
      await operations.cancelAll(toCaller(cancelled_by), this.rolloutId);
`,
    tests: ["test/rollouts/failed-reads.test.ts"],
  },
  {
    name: "groups of a rollout are written with their first change, and then at its end",
    file: "lib/rollouts/group-writer.ts",
    from: "      this.#isWaiting = false;\n      return this.now();",
    to: "      return this.now();",
    tests: ["test/rollouts/rollout-groups.test.ts"],
  },
  {
    name: "due times stay as a wrong clock wrote them where they can't be brought back at once",
    file: "lib/rollouts/scheduled-rollouts.ts",
    from: "        await this.#realign();\n        this.#offset = offset;\n",
    to: "        this.#offset = offset;\n        await this.#realign();\n",
    tests: ["test/rollouts/scheduled-rollouts.test.ts"],
  },
  {
    name: "the self check of the audit log is over for good once its place could not be noted",
    file: "lib/audit/check-record.ts",
    from: "if (this.#unwritten?.revision === (stored?.revision ?? 0)) return this.#unwritten;",
    to: "if (this.#unwritten) return this.#unwritten;",
    tests: ["test/audit/self-check.test.ts"],
  },
  {
    name: "that a secret expires is told again with every change of it",
    file: "lib/secrets/secrets.ts",
    from: "if (rest.expires_at !== undefined) writes",
    to: "if (document.expires_at !== undefined) writes",
    tests: ["test/secrets/expiries.test.ts"],
  },
  {
    name: "a lease is good for as long from when it was answered as from when it was asked for",
    file: "lib/upkeep/sole-duty.ts",
    from: "askedAt + ttlMs",
    to: "clock.monotonic() + ttlMs",
    tests: ["test/notifications/channels/slow-lease.test.ts"],
  },
  {
    name: "events have ids before those of another process whose clock is ahead",
    file: "lib/feed/feed.ts",
    from: "    this.#ids.see(record.id);\n",
    tests: ["test/event-feed/event-feed.test.ts"],
  },
  {
    name: "a start removes what an agent measured that was removed and taken in again",
    file: "lib/metrics/metric-service.ts",
    from: `if ((await storage.get("agents", key)) === null) this.#remove(key);`,
    to: "this.#remove(key);",
    tests: ["test/metrics/metrics.test.ts"],
  },
];
