import type { Bug } from "./bugs.ts";

const terminals = ["test/terminals/terminal-access.test.ts"];

/** Bugs of what agents do live: their connections, terminals, metrics, and what their owners add. */
export const liveBugs: readonly Bug[] = [
  {
    name: "an answer to a ping counts as a flood",
    file: "adapters/h3/peer-socket.ts",
    from: `    if (this.#pinged > 0) this.#pinged -= 1;
    else this.bear();`,
    to: `    this.bear();`,
    tests: ["test/adapters/h3/agent-socket.test.ts"],
  },
  {
    name: "refusals of agents share the limits of strangers",
    file: "lib/agents/agent-refusals.ts",
    from: `this.#ofAgents.tryTake(nodeId)`,
    to: `this.#ofStrangers.tryTake(nodeId)`,
    tests: ["test/agents/agent-refusals.test.ts"],
  },
  {
    name: "that an agent left is told behind that it is back",
    file: "lib/agents/connection-events.ts",
    from: `this.#turns.do(nodeId, () => this.#context.tell(type, write))`,
    to: `this.#context.tell(type, write)`,
    tests: ["test/agents/connection-events.test.ts"],
  },
  {
    name: "work begins at agents that were let go",
    file: "lib/operations/dispatcher.ts",
    from: ` || this.#context.isDraining)`,
    to: `)`,
    tests: ["test/rollouts/restart.test.ts"],
  },
  {
    name: "a hop's address with a port is nobody's",
    file: "adapters/h3/source-address.ts",
    from: `plainAddress(withoutPort(hops.pop() ?? ""))`,
    to: `plainAddress(hops.pop() ?? null)`,
    tests: ["test/adapters/h3/source-address.test.ts"],
  },
  {
    name: "the network of one agent is taken for the speed of the server",
    file: "lib/transport/return-slots.ts",
    from: ` / Math.max(this.#mostOfSource, this.#going);`,
    to: ` / Math.max(1, this.#going);`,
    tests: ["test/transport/handshake-places.test.ts"],
  },
  {
    name: "a stranger's silence is taken for the speed of the server",
    file: "lib/transport/socket-transport.ts",
    from: `    if (connection.nodeId === null) this.#returnSlots?.gaveUp(begun);\n    else this.#returnSlots?.ended();`,
    to: `    this.#returnSlots?.ended();`,
    tests: ["test/transport/handshake-places.test.ts"],
  },
  {
    name: "a terminal is opened for who may no more",
    file: "lib/terminals/terminal-service.ts",
    from: `      if (!(await this.#isOpenersStill(terminal))) throw new OrchestratorError("FORBIDDEN");\n`,
    tests: terminals,
  },
  {
    name: "an answer that nobody waits for yet is unhandled",
    file: "lib/terminals/terminal-service.ts",
    from: `      this.#context.transport.send(node_id, command).catch(failed);`,
    to: `      await this.#context.transport.send(node_id, command);`,
    tests: ["test/terminals/refused.test.ts"],
  },
  {
    name: "a holder that is only cut off is taken for gone",
    file: "lib/terminals/left-terminals.ts",
    from: `    if (lease === null) return true;\n`,
    tests: ["test/terminals/elsewhere.test.ts"],
  },
  {
    name: "a process looks for left terminals at its start alone",
    file: "lib/terminals/left-terminals.ts",
    from: `    if (areLeft) this.#arm();\n`,
    tests: ["test/terminals/elsewhere.test.ts"],
  },
  {
    name: "a terminal that is being opened takes two places",
    file: "lib/terminals/terminal-service.ts",
    from: `[...this.#live.values()].filter(({ isOpening }) => !isOpening).length`,
    to: `this.#live.size`,
    tests: ["test/terminals/refused.test.ts"],
  },
  {
    name: "one address has all of the checks of discovery",
    file: "lib/agent/discovery/check-shares.ts",
    from: `    if (!this.#addresses.tryTake(address)) return false;\n`,
    tests: ["test/agent/discovery/announcement-listener.test.ts"],
  },
  {
    name: "names of metrics that come and go are new each time",
    file: "lib/metrics/sample-rules.ts",
    from: `  if (state.missing.has(name)) return true;\n`,
    tests: ["test/metrics/sample-rules.test.ts"],
  },
  {
    name: "a removed agent's names of metrics count",
    file: "lib/metrics/metric-intake.ts",
    from: `    this.forget(nodeId);
    this.#left.delete(nodeId);
`,
    to: `    this.forget(nodeId);\n`,
    tests: ["test/metrics/metrics.test.ts"],
  },
  {
    name: "a viewer that is gone while its ticket is looked at stays",
    file: "lib/terminals/viewer-admission.ts",
    from: `      if (this.#end !== null) return admitted.closed(this.#end.code, this.#end.reason);\n`,
    tests: ["test/terminals/viewer-admission.test.ts"],
  },
  {
    name: "new names of metrics are counted by connection",
    file: "lib/metrics/metric-intake.ts",
    from: `  forget(nodeId: string): void {
    this.#keepNames(nodeId);
`,
    to: `  forget(nodeId: string): void {\n`,
    tests: ["test/metrics/metrics.test.ts"],
  },
  {
    name: "a report goes without what a program prints that still runs",
    file: "lib/agent/attribute-reports.ts",
    from: `    if (this.#isAsking) this.#isOwed = true;
    else this.#withCustom`,
    to: `    this.#withCustom`,
    tests: ["test/agent/attribute-reports.test.ts"],
  },
  {
    name: "a blob that is kept again counts as dropped before the checkpoint",
    file: "lib/storage/file/dropped-blobs.ts",
    from: `    else if (effect.kind === "keepBlob") this.#before.delete(effect.id);\n`,
    tests: ["test/storage/dropped-blobs.test.ts"],
  },
  {
    name: "an operation of before a restore is cancelled here alone",
    file: "lib/operations/dispatcher.ts",
    from: `if (isOver && !this.#context.epochs.isBefore(operation)) return;`,
    to: `if (isOver) return;`,
    tests: ["test/restores/restores.test.ts"],
  },
  {
    name: "the newest event goes by its age",
    file: "lib/event-feed/event-retention.ts",
    from: `Math.min(old + 1, head.sequence)`,
    to: `old + 1`,
    tests: ["test/event-feed/resume.test.ts"],
  },
];
