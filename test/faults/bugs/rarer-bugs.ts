import type { Bug } from "./bugs.ts";

/** Second occurrences, two features together, and machines that differ. */
export const rarerBugs: readonly Bug[] = [
  {
    name: "a removal does not finish what an interrupted dpkg left",
    file: "lib/state/resources/package/apt.ts",
    from: `  async remove(names, { purge, alone }, machine) {
    await finishInterrupted(machine);
`,
    to: `  async remove(names, { purge, alone }, machine) {
`,
    tests: ["test/state/resources/package.test.ts"],
  },
  {
    name: "a service that OpenRC calls inactive is an error",
    file: "lib/state/resources/service/openrc.ts",
    from: "const statusCodes = [0, 1, 3, 8, 16, 32];",
    to: "const statusCodes = [0, 1, 3, 8, 32];",
    tests: ["test/state/resources/service/status-codes.test.ts"],
  },
  {
    name: "what failed in a plan is stale in its apply",
    file: "lib/agent/foreseen-limits.ts",
    from: 'if (plan?.outcome === "unknown" || plan?.outcome === "failed") return true;',
    to: 'if (plan?.outcome === "unknown") return true;',
    tests: ["test/agent/foreseen-limits.test.ts"],
  },
  {
    name: "a folder takes a window that is over for the one that it declares",
    file: "lib/fleet-folder/matching.ts",
    from: `function isFree({ managedBy, hasEnded }: PresentThing): boolean {
  return managedBy === null && !hasEnded;`,
    to: `function isFree({ managedBy }: PresentThing): boolean {
  return managedBy === null;`,
    tests: ["test/fleet-folder/fleet-folder.test.ts"],
  },
  {
    name: "the refusal of an agent that is stopping ends an operation",
    file: "lib/operations/inquiries.ts",
    from: 'if (!asked || !error || error.code === "UNAVAILABLE") return null;',
    to: "if (!asked || !error) return null;",
    tests: ["test/operations/late-result.test.ts"],
  },
  {
    name: "a whole that was worked out before is not kept anew",
    file: "lib/operations/baselines.ts",
    from: `    if (known !== undefined) {
      await this.#snapshots.save(await this.#snapshots.load(known));
      return known;
    }
`,
    to: `    if (known !== undefined) return known;
`,
    tests: ["test/operations/baselines.test.ts"],
  },
  {
    name: "a second refused token of one agent is not told",
    file: "lib/enrolment-tokens/token-refusals.ts",
    from: 'const what = `${reason} ${token?.id ?? ""}`;',
    to: "const what = reason;",
    tests: ["test/enrolment-tokens/admission.test.ts"],
  },
  {
    name: "a process that goes ends the pipes of all others",
    file: "lib/cluster/framed-cluster.ts",
    from: "      pipes.end(lost(reason), process);",
    to: "      pipes.end(lost(reason));",
    tests: ["test/cluster/three-members.test.ts"],
  },
  {
    name: "a missing series ends its alarm before its recovery time",
    file: "lib/thresholds/judgement.ts",
    from: "if (missing) return missing.until - missing.since >= Math.max(longMs, missingMs);",
    to: "if (missing) return missing.until - missing.since >= missingMs;",
    tests: ["test/thresholds/judgement.test.ts"],
  },
  {
    name: "a terminal is kept from its opening on, not from its end",
    file: "lib/terminals/terminal-retention.ts",
    from: "Date.parse(value.closed_at ?? value.opened_at) >= before",
    to: "Date.parse(value.opened_at) >= before",
    tests: ["test/terminals/terminal-retention.test.ts"],
  },
  {
    name: "a rollout that ends before its watcher hears of it is waited for without end",
    file: "adapters/cli/watch-rollout.ts",
    from: "if (isTold && !isOfRollout && Date.now() - lookedAt < lookMs) continue;",
    to: "if (!isOfRollout && Date.now() - lookedAt < lookMs) continue;",
    tests: ["test/adapters/cli/wait.test.ts"],
  },
];
