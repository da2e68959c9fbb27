/** Bugs in what a command asks a server for, and in what it says afterwards. */
import type { Bug } from "./bugs.ts";

const hostileAnswers = ["test/adapters/cli/hostile-answers.test.ts"];
const many = ["test/adapters/cli/many.test.ts"];
const optionValues = ["test/adapters/cli/option-values.test.ts"];
const shownFields = ["test/adapters/cli/shown-fields.test.ts"];
const shownWords = ["test/adapters/cli/shown-words.test.ts"];
const sentOptions = ["test/adapters/cli/sent-options.test.ts"];

export const commandLineBugs: readonly Bug[] = [
  {
    name: "a threshold is told to recover at once, whatever --recover-after says",
    file: "adapters/cli/commands/thresholds.ts",
    from: `    ...(recoverAfter !== undefined && { recovery_seconds: recoverAfter }),\n`,
    to: ``,
    tests: sentOptions,
  },
  {
    name: "a threshold that is enabled again on the command line stays as it was",
    file: "adapters/cli/commands/thresholds.ts",
    from: `          ...(given.enable && { enabled: true }),\n`,
    to: ``,
    tests: sentOptions,
  },
  {
    name: "a command runs in the folder of its user's name",
    file: "adapters/cli/run-command.ts",
    from: `{ cwd: options.cwd }`,
    to: `{ cwd: options.user }`,
    tests: sentOptions,
  },
  {
    name: "batches are never kept apart by a tag",
    file: "adapters/cli/rollout-options.ts",
    from: `    ...(groupBy !== undefined && { group_by: groupBy }),\n`,
    to: ``,
    tests: sentOptions,
  },
  {
    name: "a channel made for the audit log tells notifications",
    file: "adapters/cli/commands/channels.ts",
    from: `          ...(audit && { source: "audit" as const }),\n`,
    to: ``,
    tests: sentOptions,
  },
  {
    name: "a window that is to be endless keeps its end",
    file: "adapters/cli/commands/windows.ts",
    from: `const ends_at = endless ? null : endOf(given, from);`,
    to: `const ends_at = endless ? undefined : endOf(given, from);`,
    tests: sentOptions,
  },
  {
    name: "lines of a command have what a server answers as it is",
    file: "adapters/cli/text.ts",
    from: `return endLines(lines.map(toSafeText));`,
    to: `return endLines(lines);`,
    tests: hostileAnswers,
  },
  {
    name: "names of facts act on the terminal",
    file: "adapters/cli/text.ts",
    from: `[toLine(name), toLine(String(value))]`,
    to: `[name, toLine(String(value))]`,
    tests: [...hostileAnswers, "test/adapters/cli/text.test.ts"],
  },
  {
    name: "a logout waits in silence for a server that hangs",
    file: "adapters/cli/commands/session.ts",
    from: `{ url: profile.url, fetch: call.fetch, token }`,
    to: `{ url: profile.url, token }`,
    tests: ["test/adapters/cli/patient-fetch.test.ts"],
  },
  {
    name: "programs are told in words that a list goes on",
    file: "adapters/cli/call.ts",
    from: `if (page.next_cursor !== null && !this.options.json) {`,
    to: `if (page.next_cursor !== null) {`,
    tests: many,
  },
  {
    name: "the last page of a list has more than was asked for",
    file: "adapters/cli/call.ts",
    from: `Math.min(largestPage, limit - items.length)`,
    to: `Math.min(largestPage, limit)`,
    tests: many,
  },
  {
    name: "what was done to agents before a call failed is not told",
    file: "adapters/cli/change-agents.ts",
    from: `if (ended !== undefined && items.length === 0 && failed.length === 0) throw ended;`,
    to: `if (ended !== undefined) throw ended;`,
    tests: many,
  },
  {
    name: "pending agents are rejected as far as one call goes",
    file: "adapters/cli/commands/agents.ts",
    from: `remaining = part.rejected === 0 ? 0 : part.remaining;`,
    to: `remaining = 0;`,
    tests: many,
  },
  {
    name: "a minute of a duration is six seconds",
    file: "adapters/cli/options.ts",
    from: `m: 60_000`,
    to: `m: 6_000`,
    tests: optionValues,
  },
  {
    name: "no removals at all are any number of them",
    file: "adapters/cli/rollout-options.ts",
    from: `...(maxRemovals !== undefined &&`,
    to: `...(maxRemovals &&`,
    tests: optionValues,
  },
  {
    name: "a list of windows has each end where it begins",
    file: "adapters/cli/commands/windows.ts",
    from: `["ENDS", ({ occurrences: [next] }) => next?.ends_at, timeColumn]`,
    to: `["ENDS", ({ occurrences: [next] }) => next?.starts_at, timeColumn]`,
    tests: shownFields,
  },
  {
    name: "a terminal is shown as closed when it was opened",
    file: "adapters/cli/commands/terminal.ts",
    from: `["closed", terminal.closed_at]`,
    to: `["closed", terminal.opened_at]`,
    tests: shownFields,
  },
  {
    name: "status points to failed checks for agents that drifted",
    file: "adapters/cli/show-summary.ts",
    from: `see: "drift --status drifted"`,
    to: `see: "drift --status failed"`,
    tests: shownWords,
  },
  {
    name: "an interrupted operation is as green as one that succeeded",
    file: "adapters/cli/paint.ts",
    from: `interrupted: "red"`,
    to: `interrupted: "green"`,
    tests: shownWords,
  },
];
