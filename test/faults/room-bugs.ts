/** Bugs in rooms whose tests are their own: secrets, terminals, thresholds, windows, notifications, enrolment, names of agents. */
import type { Bug } from "./bugs.ts";

export const roomBugs: readonly Bug[] = [
  {
    name: "what an older process wrote with the old master key is left",
    file: "lib/secrets/key-ring.ts",
    from: `return (await this.#left(1)).length > 0;`,
    to: `return false;`,
    tests: ["test/secrets/key-ring.test.ts"],
  },
  {
    name: "only values whose key comes before the newest are encrypted anew",
    file: "lib/secrets/key-ring.ts",
    from: `[{ to: newest }, { from: \`\${newest}\\u0000\` }]`,
    to: `[{ to: newest }]`,
    tests: ["test/secrets/key-ring.test.ts"],
  },
  {
    name: "a secret that is removed while it is encrypted anew ends the change of the key",
    file: "lib/secrets/key-ring.ts",
    from: `if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;`,
    to: `throw error;`,
    tests: ["test/secrets/key-ring.test.ts"],
  },
  {
    name: "the old master key goes before its canary",
    file: "lib/secrets/key-ring.ts",
    from: `      await this.#conclude(caller, { key_id, rewrapped });
      await source?.retire?.(this.vault.keyOf(key_id));`,
    to: `      await source?.retire?.(this.vault.keyOf(key_id));
      await this.#conclude(caller, { key_id, rewrapped });`,
    tests: ["test/secrets/key-ring.test.ts"],
  },
  {
    name: "a value is written with a master key that another process has left",
    file: "lib/secrets/key-ring.ts",
    from: `      { kind: "delete", ...leftPlace(sealed.key_id), expected: 0 },`,
    to: ``,
    tests: ["test/secrets/two-processes.test.ts"],
  },
  {
    name: "a second change of the master key is taken for the first",
    file: "lib/secrets/key-ring.ts",
    from: `this.#rotating ??= this.#rotate(caller, { mayRenew: true }).finally(() => (this.#rotating = null));`,
    to: `this.#rotating ??= this.#rotate(caller, { mayRenew: true });`,
    tests: ["test/secrets/key-ring.test.ts"],
  },
  {
    name: "a secret that has expired is first told to expire",
    file: "lib/secrets/expiries.ts",
    from: `due.stage === "expired" || atMs <= this.#context.fleetTime.now()`,
    to: `due.stage === "expired"`,
    tests: ["test/secrets/expiries.test.ts"],
  },
  {
    name: "a secret whose last days begin with the look is told by the next",
    file: "lib/secrets/expiries.ts",
    from: `this.#context.fleetTime.now() + 1`,
    to: `this.#context.fleetTime.now()`,
    tests: ["test/secrets/expiries.test.ts"],
  },
  {
    name: "what tells of an expiry overwrites a change made meanwhile",
    file: "lib/secrets/expiries.ts",
    from: `const gone: Write = { kind: "delete", collection, key, expected: revision };`,
    to: `const gone: Write = { kind: "delete", collection, key };`,
    tests: ["test/secrets/expiries.test.ts"],
  },
  {
    name: "a ticket is good in the instant in which it ends",
    file: "lib/terminals/tickets.ts",
    from: `value.expires_at > fleetTime.now()`,
    to: `value.expires_at >= fleetTime.now()`,
    tests: ["test/terminals/terminal-access.test.ts"],
  },
  {
    name: "a ticket lets two in that come at once",
    file: "lib/terminals/tickets.ts",
    from: `[{ kind: "delete", collection, key, expected: revision }]`,
    to: `[{ kind: "delete", collection, key }]`,
    tests: ["test/terminals/terminal-access.test.ts"],
  },
  {
    name: "a ticket opens another terminal",
    file: "lib/terminals/tickets.ts",
    from: `value.session_id === sessionId && `,
    tests: ["test/terminals/terminal-access.test.ts"],
  },
  {
    name: "a viewer that has gone keeps its stream",
    file: "lib/terminals/viewer-connection.ts",
    from: `    this.#attachment.release();
`,
    tests: ["test/terminals/elsewhere.test.ts"],
  },
  {
    name: "who signs out while a terminal is attached sees it",
    file: "lib/terminals/viewer-connection.ts",
    from: `    if (signal.aborted) return refuse();
`,
    tests: ["test/terminals/terminal-access.test.ts"],
  },
  {
    name: "what a viewer acknowledged goes back",
    file: "lib/terminals/viewer-connection.ts",
    from: `Math.min(this.#sent, Math.max(this.#seen, message.offset))`,
    to: `Math.min(this.#sent, message.offset)`,
    tests: ["test/terminals/terminal-stream.test.ts"],
  },
  {
    name: "a viewer acknowledges what was not sent",
    file: "lib/terminals/viewer-connection.ts",
    from: `Math.min(this.#sent, Math.max(this.#seen, message.offset))`,
    to: `Math.max(this.#seen, message.offset)`,
    tests: ["test/terminals/terminal-races.test.ts"],
  },
  {
    name: "a window of output drops a piece too early",
    file: "lib/terminals/output-window.ts",
    from: `this.#end - first.start - first.used < this.#mostBytes`,
    to: `this.#end - first.start < this.#mostBytes`,
    tests: ["test/terminals/output-window.test.ts"],
  },
  {
    name: "the end of a terminal is written over",
    file: "lib/terminals/terminal-ends.ts",
    from: `if (!stored || stored.value.status !== "active") return;`,
    to: `if (!stored) return;`,
    tests: ["test/terminals/terminal-races.test.ts"],
  },
  {
    name: "terminals of a holder that is there are settled with others",
    file: "lib/terminals/left-terminals.ts",
    from: `const left = others.filter((terminal) => terminal.holder === holder);`,
    to: `const left = others;`,
    tests: ["test/terminals/elsewhere.test.ts"],
  },
  {
    name: "a pause as long as a gap may be is one",
    file: "lib/thresholds/judgement.ts",
    from: `at - course.at <= gapMs ?`,
    to: `at - course.at < gapMs ?`,
    tests: ["test/thresholds/judgement.test.ts"],
  },
  {
    name: "an alarm ends before its series was missing for five minutes",
    file: "lib/thresholds/judgement.ts",
    from: `Math.max(longMs, missingMs)`,
    to: `longMs`,
    tests: ["test/thresholds/judgement.test.ts"],
  },
  {
    name: "a value at the recovery value is not back",
    file: "lib/thresholds/judgement.ts",
    from: `value <= recovery : value >= recovery`,
    to: `value < recovery : value > recovery`,
    tests: ["test/thresholds/judgement.test.ts"],
  },
  {
    name: "a series counts as missing over a gap",
    file: "lib/thresholds/judgement.ts",
    from: `at - course.missing.until > gapMs`,
    to: `false`,
    tests: ["test/thresholds/judgement.test.ts"],
  },
  {
    name: "that a more severe alarm was told is not noted",
    file: "lib/thresholds/alarm-damping.ts",
    from: `    if (isTold && isRise) value.severity = alarm.severity;
`,
    tests: ["test/thresholds/flapping.test.ts"],
  },
  {
    name: "what flaps for longer than a day is never told in sum",
    file: "lib/thresholds/alarm-damping.ts",
    from: ` || now - since >= longestMs`,
    tests: ["test/thresholds/flapping.test.ts"],
  },
  {
    name: "a window with another schedule keeps that an occurrence was ended",
    file: "lib/maintenance/timing.ts",
    from: `  delete settled.occurrence_ended_at;
`,
    tests: ["test/maintenance/window-timing.test.ts"],
  },
  {
    name: "the next occurrence of a window is taken for the one that was told",
    file: "lib/maintenance/window-rounds.ts",
    from: `active.get(id)?.occurrence?.from === Date.parse(value.starts_at)`,
    to: `active.has(id)`,
    tests: ["test/maintenance/window-timing.test.ts"],
  },
  {
    name: "messages of a channel that is gone stay",
    file: "lib/notifications/notification-retention.ts",
    from: ` || !hasChannel(value.channel_id)`,
    tests: ["test/notifications/channels/failing-storage.test.ts"],
  },
  {
    name: "what was read of a notification outlives it",
    file: "lib/notifications/notification-retention.ts",
    from: `      writes.push(...deletes("notification_reads", reads));
`,
    to: `      void reads;
`,
    tests: ["test/notifications/inbox/notifications.test.ts"],
  },
  {
    name: "a message that is over goes by when it was made",
    file: "lib/notifications/notification-retention.ts",
    from: `(last_attempt_at === undefined || Date.parse(last_attempt_at) < beforeMs)`,
    to: `true`,
    tests: ["test/notifications/channels/failing-storage.test.ts"],
  },
  {
    name: "two processes let in two by a token for one",
    file: "lib/enrolment-tokens/enrolment-token-service.ts",
    from: `value: toJsonObject(after), expected: revision }]`,
    to: `value: toJsonObject(after) }]`,
    tests: ["test/enrolment-tokens/admission.test.ts"],
  },
  {
    name: "the tags of a token take the place of those of an operator",
    file: "lib/enrolment-tokens/enrolment-token-service.ts",
    from: `{ ...token.tags, ...before?.value.tags }`,
    to: `{ ...before?.value.tags, ...token.tags }`,
    tests: ["test/enrolment-tokens/admission.test.ts"],
  },
  {
    name: "a token lets in an agent that an operator removed",
    file: "lib/enrolment-tokens/enrolment-token-service.ts",
    from: `    if (await this.#agents.registry.wasRemoved(node_id)) return "agent_removed";
`,
    tests: ["test/enrolment-tokens/admission.test.ts"],
  },
  {
    name: "what could not be told counts as told",
    file: "lib/enrolment-tokens/token-refusals.ts",
    from: `        this.#denials.giveBack(source, unrecorded);
`,
    tests: ["test/enrolment-tokens/admission.test.ts"],
  },
  {
    name: "a refusal that could not be told is not told later",
    file: "lib/enrolment-tokens/token-refusals.ts",
    from: `        await this.#context.commit(systemCaller, [], event);
        this.#told.set(node_id, what);`,
    to: `        this.#told.set(node_id, what);
        await this.#context.commit(systemCaller, [], event);`,
    tests: ["test/enrolment-tokens/admission.test.ts"],
  },
  {
    name: "a token is forgotten as soon as it has expired",
    file: "lib/enrolment-tokens/enrolment-tokens.ts",
    from: `this.#context.fleetTime.now() - rememberedMs`,
    to: `this.#context.fleetTime.now()`,
    tests: ["test/enrolment-tokens/enrolment-tokens.test.ts"],
  },
  {
    name: "a token lets in an agent that is removed in the same moment",
    file: "lib/agents/approvals.ts",
    from: `        { kind: "delete", collection: "removed_agents", key: after.node_id, expected: 0 },
`,
    tests: ["test/enrolment-tokens/admission.test.ts"],
  },
  {
    name: "one call rejects more than a thousand agents",
    file: "lib/agents/approvals.ts",
    from: `Math.min(nodeIds.length, mostAtOnce); at += sideBySide`,
    to: `nodeIds.length; at += sideBySide`,
    tests: ["test/agents/strangers.test.ts"],
  },
  {
    name: "an agent is not found by its name in another case",
    file: "lib/agents/agent-names.ts",
    from: `await this.#storage.get<{ node_id: string }>("agent_names", name.toLowerCase())`,
    to: `await this.#storage.get<{ node_id: string }>("agent_names", name)`,
    tests: ["test/agents/agent-views.test.ts"],
  },
  {
    name: "an agent that is gone again is told online",
    file: "lib/agents/offline-events.ts",
    from: `    this.#back.delete(nodeId);
    // The next process`,
    to: `    // The next process`,
    tests: ["test/agents/offline-events.test.ts"],
  },
  {
    name: "the findings of agents that are rejected are counted",
    file: "lib/agents/findings.ts",
    from: `this.#registry.isApproved(nodeId) ? this.#known.get(nodeId) : undefined`,
    to: `this.#known.get(nodeId)`,
    tests: ["test/agents/findings.test.ts"],
  },
  {
    name: "a count of findings that is zero again is told",
    file: "lib/agents/findings.ts",
    from: `      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);`,
    to: `      this.#counts.set(name, count);`,
    tests: ["test/agents/findings.test.ts"],
  },
];
