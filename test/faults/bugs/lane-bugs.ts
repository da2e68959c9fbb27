import type { Bug } from "./bugs.ts";

const transport = "lib/transport/socket-transport.ts";
const duty = "lib/upkeep/sole-duty.ts";
const duties = ["test/upkeep/sole-duty.test.ts"];
const link = "lib/agent/agent-link.ts";
const comeAgain = ["test/agent/come-again.test.ts"];
const comeAndGo = ["test/agents/connection-events.test.ts"];

/** Bugs of who works for an agent: two at a time, nobody, or one who believes what is not so. */
export const laneBugs: readonly Bug[] = [
  {
    name: "an operation is changed whatever became of it since it was read",
    file: "lib/operations/operation-store.ts",
    from: `[toPut(operation, stored.revision), ...writes]`,
    to: `[{ ...toPut(operation, 0), expected: undefined } as unknown as Write, ...writes]`,
    tests: ["test/operations/sweeper.test.ts"],
  },
  {
    name: "the end of a clone's connection ends that of its agent",
    file: transport,
    from: `    if (nodeId === null || this.#agents.get(nodeId) !== connection) return;`,
    to: `    if (nodeId === null) return;`,
    tests: ["test/transport/takeover.test.ts", "test/transport/conformance.test.ts"],
  },
  {
    name: "a dead connection is waited for as long as it likes",
    file: "lib/transport/life-probe.ts",
    from: `export const probeTimeoutMs = 2_000;`,
    to: `export const probeTimeoutMs = 60_000;`,
    tests: ["test/transport/takeover.test.ts"],
  },
  {
    name: "a duty counts from when its lease was heard of, not from when it was asked for",
    file: duty,
    from: `this.#until = this.#lease ? askedAt + ttlMs : -Infinity;`,
    to: `this.#until = this.#lease && askedAt >= 0 ? clock.monotonic() + ttlMs : -Infinity;`,
    tests: duties,
  },
  {
    name: "a duty lasts until somebody says otherwise",
    file: duty,
    from: `    return this.#context.clock.monotonic() < this.#until;`,
    to: `    return this.#until > -Infinity;`,
    tests: duties,
  },
  {
    name: "a duty is renewed when it is over",
    file: duty,
    from: `const beatMs = 5_000;`,
    to: `const beatMs = 16_000;`,
    tests: duties,
  },
  {
    name: "a duty is not given up at the end",
    file: duty,
    from: `    await lease?.release();\n`,
    to: `    void lease;\n`,
    tests: duties,
  },
  {
    name: "a lease that is over can be renewed",
    file: "lib/storage/leases.ts",
    from: `if (!isMine() || !this.#isValid(mine)) return false;`,
    to: `if (!isMine()) return false;`,
    tests: ["test/storage/conformance.test.ts"],
  },
  {
    name: "the self check of the audit log goes on when another has its lease",
    file: "lib/audit/self-check.ts",
    from: `        if (!(await lease.renew())) return;\n`,
    to: `        await lease.renew();\n`,
    tests: ["test/audit/self-check-processes.test.ts"],
  },
  {
    name: "an agent obeys a hint of a far time",
    file: link,
    from: `return Math.min(longestDelayMs, retryMs + spreadMs * this.#options.random());`,
    to: `return retryMs + spreadMs * this.#options.random();`,
    tests: comeAgain,
  },
  {
    name: "an agent reads a hint of a far time as it stands",
    file: "lib/wire/close-reason.ts",
    from: `return digits === undefined ? null : Math.min(longestRetryMs, Number(digits));`,
    to: `return digits === undefined ? null : Number(digits);`,
    tests: ["test/wire/close-reason.test.ts"],
  },
  {
    name: "an agent obeys hints without end",
    file: link,
    from: `retryMs !== undefined && this.#hints < mostHints`,
    to: `retryMs !== undefined && this.#hints <= Infinity * mostHints`,
    tests: comeAgain,
  },
  {
    name: "an agent was seen last when that was told, not when it left",
    file: "lib/agents/connection-events.ts",
    from: `last_seen_at: toTimestamp(move.atMs)`,
    to: `last_seen_at: toTimestamp(Math.max(move.atMs, this.#context.clock.now()))`,
    tests: comeAndGo,
  },
  {
    name: "nobody writes when an agent was seen last",
    file: "lib/agents/connection-events.ts",
    from: `const after = { ...agent, last_seen_at: toTimestamp(move.atMs) };`,
    to: `const after = { ...agent, ...(toTimestamp(move.atMs) === "" && {}) };`,
    tests: comeAndGo,
  },
  {
    name: "an agent that waits and comes again was seen last the first time",
    file: "lib/agents/enrolment.ts",
    from: `      return { ...before, ...facts, last_seen_at: this.#context.timestamp() };`,
    to: `      return { ...before, ...facts };`,
    tests: ["test/agents/pending-retention.test.ts"],
  },
  {
    name: "each change of an agent has all looked at that a window holds",
    file: "lib/operations/held-work.ts",
    from: `if (this.#ofAgents.has(key) && parts.maintenance.freezeOf(key) === null) this.look();`,
    to: `if (key !== "") this.look();`,
    tests: ["test/maintenance/held-work.test.ts"],
  },
  {
    name: "a line is looked at from its beginning with each that joins it",
    file: "lib/operations/dispatcher.ts",
    from: ` else if (!this.#lanes.isPatient(operationId) || this.#rules.presence.isConnected(nodeId))`,
    to: ` else`,
    tests: ["test/operations/long-lines.test.ts"],
  },
  {
    name: "what waits for its agent is not looked at again when something overtakes it",
    file: "lib/operations/lanes.ts",
    from: `if (mayOvertake(operation, this.#patient.get(id))) this.#patient.delete(id);`,
    to: `if (mayOvertake(operation, undefined)) this.#patient.delete(id);`,
    tests: ["test/operations/overtaken.test.ts"],
  },
  {
    name: "what waited for agents to come back after a start waits for ever",
    file: "lib/operations/dispatcher.ts",
    from: `    this.#lanes.lookAgain();\n`,
    tests: ["test/maintenance/held-work.test.ts"],
  },
];
