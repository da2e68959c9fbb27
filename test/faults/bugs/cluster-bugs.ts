import type { Bug } from "./bugs.ts";

const pipe = "lib/cluster/framed-pipe.ts";
const conformance = ["test/cluster/conformance.test.ts"];
const alone = ["test/cluster/framed-pipe.test.ts"];
const watching = ["test/operations/watch-elsewhere.test.ts"];

/** Bugs of what goes between processes: bytes that are lost without a word, and waiting for ever. */
export const clusterBugs: readonly Bug[] = [
  {
    name: "a gap in a pipe is ignored",
    file: pipe,
    from: `    if (number !== this.#heard) return this.abort(lost("gap"));\n`,
    tests: ["test/cluster/pipe-faults.test.ts"],
  },
  {
    name: "the silence of the other side of a pipe is not noticed",
    file: pipe,
    from: `    if (this.#ends.now() - this.#heardAt > silenceMs) return this.abort(lost("silent"));\n`,
    tests: conformance,
  },
  {
    name: "a writer does not wait for credit",
    file: pipe,
    from: `      await this.#until(() => this.#credit >= cost);\n`,
    tests: conformance,
  },
  {
    name: "more than the window is taken",
    file: pipe,
    from: `if (cost > windowBytes || `,
    to: `if (`,
    tests: alone,
  },
  {
    name: "an end counts as arrived when it was sent",
    file: pipe,
    from: `    await this.#until(() => this.#isEndKnown);\n`,
    tests: ["test/cluster/pipe-faults.test.ts"],
  },
  {
    name: "what is not whole is read as if it were",
    file: pipe,
    from: `      if (this.#isEndHeard) return null;`,
    to: `      if (this.#isEndHeard || this.#error !== null) return null;`,
    tests: conformance,
  },
  {
    name: "a pipe that nobody knows is not answered for",
    file: "lib/cluster/pipes.ts",
    from: ` else if (frame.kind !== "reset") this.#reset(process, replyTo(frame), lost("closed"));`,
    tests: ["test/cluster/members.test.ts"],
  },
  {
    name: "calls to a process that is gone go on waiting",
    file: "lib/cluster/framed-cluster.ts",
    from: `      gone: (process) => lose("gone", process),`,
    to: `      gone: () => {},`,
    tests: conformance,
  },
  {
    name: "the progress of an operation begins anew with each pipe",
    file: "lib/operations/progress-pipe.ts",
    from: `this.#last?.holder === holder ? this.#last.id : "start"`,
    to: `"start"`,
    tests: watching,
  },
  {
    name: "a watcher waits for a holder that does not hear of the end",
    file: "lib/operations/progress-pipe.ts",
    from: `setTimer(retryMs, () => late.abort());`,
    to: `setTimer(retryMs, () => {});`,
    tests: watching,
  },
  {
    name: "of two processes that start first, one can't begin the epoch",
    file: "lib/epochs.ts",
    from: `return retryOnConflict(() => this.#start(begin));`,
    to: `return this.#start(begin);`,
    tests: ["test/first-starts.test.ts"],
  },
  {
    name: "of two processes that start first, one stumbles over the other's Admin",
    file: "lib/access/first-admins.ts",
    from: `if (!isOrchestratorError(error, "ALREADY_EXISTS") || left === 1) throw error;`,
    to: `if (error) throw error;`,
    tests: ["test/first-starts.test.ts"],
  },
  {
    name: "a reader of events who has read further than a member has heard is told all of it again",
    file: "lib/event-feed/event-tail.ts",
    from: `(isHeard && this.#inMemoryAfter(before, 1))`,
    to: `this.#inMemoryAfter(before, 1)`,
    tests: ["test/event-feed/at-another-member.test.ts"],
  },
  {
    name: "a call that wrote nothing is not answered as the one that another member made with its key",
    file: "lib/idempotency/idempotency-service.ts",
    from: `claim.isLanded ? null : await madeElsewhere(this.#context, claim)`,
    to: `claim.isLanded ? null : null`,
    tests: ["test/idempotency/at-another-member.test.ts"],
  },
  {
    name: "a call that another member is making is not waited for",
    file: "lib/idempotency/idempotency-service.ts",
    from: `await this.#running.get(String(body["id"]))?.outcome.catch(() => {});`,
    to: `void body;`,
    tests: ["test/idempotency/at-another-member.test.ts"],
  },
  {
    name: "a rollout does not hear what is asked of it at another member",
    file: "lib/rollouts/rollout-service.ts",
    from: `run.status !== document.value.status`,
    to: `run.status === null`,
    tests: ["test/rollouts/at-another-member.test.ts"],
  },
  {
    name: "what another member made ends while its agent runs something",
    file: "lib/operations/lanes.ts",
    from: ` && !store.isRunning(node_id)`,
    to: ``,
    tests: ["test/operations/made-elsewhere.test.ts"],
  },
  {
    name: "a process that was held up adds to a recording whose end another has written",
    file: "lib/terminals/left-terminals.ts",
    from: `return stored?.value.status === "active";`,
    to: `return stored !== null;`,
    tests: ["test/terminals/held-up-holder.test.ts"],
  },
  {
    name: "who was answered for in the last moment is told offline",
    file: "lib/agents/presence.ts",
    from: `return [[key, { kind: "delete", collection, key, expected }]];`,
    to: `return [[key, { kind: "delete", collection, key }]];`,
    tests: ["test/agents/offline-elsewhere.test.ts"],
  },
  {
    name: "an answer that is late takes a later question away",
    file: "lib/agents/presence.ts",
    from: `some.filter((nodeId) => this.#isAnswered(nodeId))`,
    to: `some`,
    tests: ["test/agents/offline-elsewhere.test.ts"],
  },
  {
    name: "who came and went again is told offline by the time it went first",
    file: "lib/agents/offline-events.ts",
    from: `status === "approved" && isStillGone(node_id) &&`,
    to: `status === "approved" && this.#gone.has(node_id) &&`,
    tests: ["test/agents/offline-elsewhere.test.ts"],
  },
  {
    name: "who went again while it was told is never told",
    file: "lib/agents/offline-events.ts",
    from: `if (isStillGone(nodeId)) this.#gone.delete(nodeId);`,
    to: `this.#gone.delete(nodeId);`,
    tests: ["test/agents/offline-elsewhere.test.ts"],
  },
  {
    name: "one that is gone waits for the questions about all others",
    file: "lib/agents/offline-events.ts",
    from: `this.#sought.ask(this.#overdue(now))`,
    to: `this.#sought.ask([...group.gone.keys()])`,
    tests: ["test/agents/offline-elsewhere.test.ts"],
  },
];
