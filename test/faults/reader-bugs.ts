import type { Bug } from "./bugs.ts";

/** Bugs that a reader of the sources chose who had not seen the tests, and that none of these noticed. */
export const readerBugs: readonly Bug[] = [
  {
    name: "a job that stood before can't be given back to a user who is gone",
    file: "lib/state/resources/cron.ts",
    from: `isGone && (spec.ensure === "absent" || spec.lines !== undefined)`,
    to: `isGone && spec.ensure === "absent"`,
    tests: ["test/state/resources/cron.test.ts"],
  },
  {
    name: "a setting of the kernel with a = in its value is never in sync",
    file: "lib/state/resources/sysctl.ts",
    from: `line.slice(line.indexOf("=") + 1)`,
    to: `line.slice(line.lastIndexOf("=") + 1)`,
    tests: ["test/state/resources/sysctl.test.ts"],
  },
  {
    name: "machines whose tag is empty are grouped with those that lack it",
    file: "lib/rollouts/targets.ts",
    from: "`=${tags[group_by]}`",
    to: "`${tags[group_by]}`",
    tests: ["test/rollouts/targets.test.ts"],
  },
  {
    name: "the name of an operator who was removed stays taken where it has a capital",
    file: "lib/access/operators.ts",
    from: `key: stored.value.username.toLowerCase() }`,
    to: `key: stored.value.username }`,
    tests: ["test/access/operators.test.ts"],
  },
  {
    name: "an event at the begin of a time is passed over where it ends its block",
    file: "lib/audit/block-index.ts",
    from: `entry.latest_ms < fromMs`,
    to: `entry.latest_ms <= fromMs`,
    tests: ["test/audit/block-index.test.ts"],
  },
  {
    name: "a second session of an operator reads a transcript that the first one read unnoticed",
    file: "lib/terminals/readings.ts",
    from: `[caller.operator_id, caller.session_id]`,
    to: `[caller.operator_id, ""]`,
    tests: ["test/terminals/transcript-read.test.ts"],
  },
  {
    name: "a course of metrics lacks the sample of this moment",
    file: "lib/metrics/points.ts",
    from: `now.nowMs + 1 :`,
    to: `now.nowMs :`,
    tests: ["test/metrics/points.test.ts"],
  },
  {
    name: "a secret is restricted by what a machine does not say of itself",
    file: "lib/secrets/restriction.ts",
    from: `return looksAtAttributes(selector.operand);`,
    to: `return false;`,
    tests: ["test/secrets/secrets.test.ts"],
  },
];
