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
    from: `"to", now.nowMs) ?? now.nowMs + 1;`,
    to: `"to", now.nowMs) ?? now.nowMs;`,
    tests: ["test/metrics/points.test.ts"],
  },
  {
    name: "a secret is restricted by what a machine does not say of itself",
    file: "lib/secrets/restriction.ts",
    from: `return looksAtAttributes(selector.operand);`,
    to: `return false;`,
    tests: ["test/secrets/secrets.test.ts"],
  },
  {
    name: "a group that a program changed is found as it was for a second",
    file: "lib/host/local-users.ts",
    from: `    this.#groups = null;\n`,
    tests: ["test/host/local-users.test.ts"],
  },
  {
    name: "a machine samples as often as another server told it",
    file: "lib/agent/metrics/agent-metrics.ts",
    from: `    this.configure(defaultIntervalSeconds);\n`,
    tests: ["test/agent/metrics/agent-metrics.test.ts"],
  },
  {
    name: "a call with a key that met a conflict is not noted with what it did",
    file: "lib/idempotency/claim.ts",
    from: `  missed(error: unknown): unknown {\n    this.#state = "new";\n`,
    to: `  missed(error: unknown): unknown {\n`,
    tests: ["test/idempotency/conflicts.test.ts"],
  },
  {
    name: "a secret inside an object of a channel's config is told in an error",
    file: "lib/notifications/channels/attempt.ts",
    from: `Object.values(value).flatMap(textsOf)`,
    to: `[]`,
    tests: ["test/notifications/channels/channel-config.test.ts"],
  },
  {
    name: "a threshold is removed whatever its version is",
    file: "adapters/trpc/procedures/thresholds.ts",
    from: `thresholds.remove(await ctx.caller(), input, ctx.change())`,
    to: `thresholds.remove(await ctx.caller(), input)`,
    tests: ["test/adapters/conditional-calls.test.ts"],
  },
  {
    name: "a terminal is over before its last output was shown",
    file: "adapters/client/terminal.ts",
    from: `() => void taking.then(options.ended)`,
    to: `() => options.ended()`,
    tests: ["test/adapters/client/attach-terminal.test.ts"],
  },
  {
    name: "as many removals as may be are made without a question",
    file: "adapters/cli/removals.ts",
    from: `if (removed > (said`,
    to: `if (removed >= (said`,
    tests: ["test/adapters/cli/questions.test.ts"],
  },
  {
    name: "operations chosen by the begin of their id come without an end",
    file: "lib/operations/operation-list.ts",
    from: `      ...(filter.id_prefix !== undefined && idsFrom(filter.id_prefix)),\n      ...(before !== undefined && { to: before }),\n`,
    to: `      ...(before !== undefined && { to: before }),\n      ...(filter.id_prefix !== undefined && idsFrom(filter.id_prefix)),\n`,
    tests: ["test/operations/list-for-agent.test.ts"],
  },
  {
    name: "a connection that ended while its key was kept is taken for one that is up",
    file: "lib/agent/link-connection.ts",
    from: `    await earlier;\n    if (this.#phase === "ended") return;\n`,
    to: `    await earlier;\n`,
    tests: ["test/agent/agent-link.test.ts"],
  },
  {
    name: "a message that comes while the queue is found to be empty waits for the next one",
    file: "lib/notifications/channels/outbox.ts",
    from: ` while (this.#busy.get(channelId) === true);`,
    to: ` while (false);`,
    tests: ["test/notifications/channels/failing-storage.test.ts"],
  },
  {
    name: "the removal of a key takes a folder in which the user has something else",
    file: "lib/state/resources/authorized-key.ts",
    from: `if (spec.remove_empty === "folder" && files.list(folder).length === 0) files`,
    to: `if (spec.remove_empty === "folder") files`,
    tests: ["test/state/resources/authorized-key.test.ts"],
  },
  {
    name: "a folder is noted for what a killed process leaves there once, and not after the next barrier",
    file: "lib/host/leftovers.ts",
    from: `    this.#noted.clear();
`,
    tests: ["test/host/leftovers.test.ts"],
  },
  {
    name: "pieces of silence with breaks between them add up to a dead agent",
    file: "lib/transport/life-probe.ts",
    from: `question.silent = isRead ? question.silent + 1 : 0;`,
    to: `if (isRead) question.silent += 1;`,
    tests: ["test/transport/life-probe.test.ts"],
  },
  {
    name: "what could not be trimmed for want of space comes back",
    file: "lib/storage/file/series/live-series.ts",
    from: `    this.#trims.unshift(...trims);
`,
    tests: ["test/storage/file/series/file-series.test.ts"],
  },
  {
    name: "what came while the sweeper looked waits for what it found next",
    file: "lib/operations/sweeper.ts",
    from: `this.#arm(Math.min(next, this.#asked));`,
    to: `this.#arm(next);`,
    tests: ["test/operations/sweeper.test.ts"],
  },
  {
    name: "a module on its way out holds what it required",
    file: "lib/operations/scopes.ts",
    from: `leaving || removed.includes(name) ?`,
    to: `removed.includes(name) ?`,
    tests: ["test/operations/scope.test.ts"],
  },
  {
    name: "an agent that was interrupted is no failure of its rollout",
    file: "lib/rollouts/progress.ts",
    from: `["failed", "partial", "timed_out", "interrupted", "unknown"]`,
    to: `["failed", "partial", "timed_out", "unknown"]`,
    tests: ["test/rollouts/progress.test.ts"],
  },
  {
    name: "a window whose end is a due time comes once more, for no time",
    file: "lib/maintenance/occurrences.ts",
    from: `if (from === null || from >= endsMs) return null;`,
    to: `if (from === null || from > endsMs) return null;`,
    tests: ["test/maintenance/occurrences.test.ts"],
  },
  {
    name: "the removal of a muted notification takes another out of the count of the unread",
    file: "lib/notifications/inbox/inbox-index.ts",
    from: `if (!entry.muted) ids?.splice(`,
    to: `ids?.splice(`,
    tests: ["test/notifications/inbox/muted.test.ts"],
  },
  {
    name: "a channel is changed over plain HTTP from another machine",
    file: "adapters/trpc/procedures/channels.ts",
    from: `      ctx.assertPrivate();
      return ctx.orchestrator.channels.update`,
    to: `      return ctx.orchestrator.channels.update`,
    tests: ["test/adapters/h3/exposure.test.ts"],
  },
  {
    name: "a command that waits tells of the first time alone that its server is away",
    file: "adapters/cli/wait.ts",
    from: `    if (thing) isAway = false;
`,
    tests: ["test/adapters/cli/wait.test.ts"],
  },
  {
    name: "a stream of events tells of the first time alone that its server is away",
    file: "adapters/client/event-stream.ts",
    from: `      isOpen = true;
      isAway = false;
`,
    to: `      isOpen = true;
`,
    tests: ["test/adapters/client/event-stream.test.ts"],
  },
  {
    name: "a key is removed for good only with the folder that its user uses by now",
    file: "lib/state/resources/authorized-key.ts",
    from: `  return folderStat !== null && files.list(folder).length === 0;
`,
    to: `  return folderStat !== null;
`,
    tests: ["test/state/resources/authorized-key.test.ts"],
  },
];
