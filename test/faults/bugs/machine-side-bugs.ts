/** Bugs in how operations end on a machine, what is kept of them, what is ours after one that was cut off, and how terminals flow and end. */
import type { Bug } from "./bugs.ts";

const recovery = "lib/agent/recovery.ts";
const run = "lib/agent/run-operation.ts";
const terminals = "lib/agent/terminal/agent-terminals.ts";
const kept = "lib/agent/kept-results.ts";
const live = "lib/terminals/live-terminal.ts";
const cut = ["test/agent/kept-after-cut.test.ts"];
const ends = ["test/agent/operation-ends.test.ts"];
const keeping = ["test/agent/kept-results.test.ts"];
const spoken = ["test/terminals/spoken-for.test.ts"];
const flow = ["test/agent/terminal/agent-terminals.test.ts"];

export const machineSideBugs: readonly Bug[] = [
  {
    name: "a start forgets what another module wanted of a thing that a cut operation changed",
    file: recovery,
    from: `distinct([...claimsOn(after), ...claimsOn(before)])`,
    to: `claimsOn(after)`,
    tests: cut,
  },
  {
    name: "two starts of a machine that nobody knows count as one",
    file: recovery,
    from: `boot !== null && boot === journal.boot`,
    to: `boot === journal.boot`,
    tests: cut,
  },
  {
    name: "an operation that never ran is told of programs of another",
    file: recovery,
    from: `left.length > 0 && journal.hasBegun(operation.operation_id)`,
    to: `left.length > 0`,
    tests: cut,
  },
  {
    name: "a script that was only meant to run is ours after a loss of power",
    file: recovery,
    from: `    if (state === "meant") return before;\n`,
    tests: cut,
  },
  {
    name: "an operation that broke off forgets what it changed",
    file: run,
    from: `command.type === "apply" && !(await keepCut(command, context));`,
    to: `false;`,
    tests: ends,
  },
  {
    name: "what is told of an operation comes behind its end",
    file: run,
    from: `  progress.flush();\n`,
    tests: ends,
  },
  {
    name: "a time limit is a thousandth of what was said",
    file: run,
    from: `timeoutMs: command.timeout_seconds * 1000,`,
    to: `timeoutMs: command.timeout_seconds,`,
    tests: ends,
  },
  {
    name: "a secret is told as an operation goes on",
    file: run,
    from: `soundResult(cleanResult(found, redactor))`,
    to: `soundResult(found)`,
    tests: ends,
  },
  {
    name: "an operation that ended in time counts as interrupted by a stop",
    file: run,
    from: `run.status === "cancelled" && context.isInterrupted()`,
    to: `context.isInterrupted()`,
    tests: ends,
  },
  {
    name: "a terminal that was dropped is held up by what it still prints",
    file: terminals,
    from: `  #output(bytes: Uint8Array): void {\n    if (this.#isOver) return;`,
    to: `  #output(bytes: Uint8Array): void {`,
    tests: flow,
  },
  {
    name: "a terminal that was held up is not let go on",
    file: terminals,
    from: `    if (this.#heldBytes < heldBytes) this.#pty?.resume();\n`,
    tests: flow,
  },
  {
    name: "a program waits for ever for a viewer that came back with all of its output seen",
    file: live,
    from: `    if (viewer.types) this.#replaceOther();`,
    to: `    if (viewer.types) this.#replaceOther();\n    if (viewer.types) this.#seen = viewer.seen;`,
    tests: spoken,
  },
  {
    name: "one who watches keeps a terminal open that its opener has left",
    file: live,
    from: `[...this.#viewers].some(({ types }) => types)`,
    to: `this.#viewers.size > 0`,
    tests: spoken,
  },
  {
    name: "the end of a terminal does not wait for output that is being recorded",
    file: live,
    from: `      await this.#recording;\n`,
    tests: spoken,
  },
  {
    name: "a terminal that was closed for a reason is said to have ended by itself",
    file: live,
    from: `this.#reason ?? (reason === "exit" ? "exit" : "closed")`,
    to: `reason === "exit" ? "exit" : (this.#reason ?? "closed")`,
    tests: spoken,
  },
  {
    name: "a start lets newer results go before older ones",
    file: kept,
    from: `found.sort((a, b) => a.atMs - b.atMs)`,
    to: `found`,
    tests: keeping,
  },
  {
    name: "a result that can't be kept is there again after a start",
    file: kept,
    from: `      removeFile(file);\n`,
    tests: keeping,
  },
  {
    name: "a result that came twice takes the room of two",
    file: kept,
    from: `    this.#drop(operationId);\n    const bytes`,
    to: `    const bytes`,
    tests: keeping,
  },
  {
    name: "a command that was cut by a stop counts as failed",
    file: "lib/agent/run-command.ts",
    from: `  if (cut.aborted) return "interrupted";\n`,
    tests: ends,
  },
  {
    name: "an apply of nothing is refused for what other modules have",
    file: "lib/agent/operation-runner.ts",
    from: `applied.resources.flatMap(claimsOn).some((claim) => scope.has(claim))`,
    to: `applied.resources.length > 0`,
    tests: ["test/agent/operation-runner.test.ts"],
  },
  {
    name: "a connection that comes when an agent has been stopped stays open",
    file: "lib/agent/agent-link.ts",
    from: `      socket.destroy();\n`,
    tests: ["test/agent/come-again.test.ts"],
  },
  {
    name: "a message that comes as a queue runs empty waits for the next one",
    file: "lib/transport/inbound-queue.ts",
    from: "      this.#run = null;\n      this.#start();\n",
    to: "      this.#run = null;\n",
    tests: ["test/transport/inbound-queue.test.ts"],
  },
  {
    name: "an agent speaks for a terminal of another",
    file: "lib/terminals/terminal-service.ts",
    from: "if (terminal?.document.node_id === nodeId) return terminal;",
    to: "if (terminal) return terminal;",
    tests: ["test/terminals/spoken-for.test.ts"],
  },
  {
    name: "a download that is just as long as it may be is refused",
    file: "lib/host/local-download.ts",
    from: "sizeBytes > maxBytes",
    to: "sizeBytes >= maxBytes",
    tests: ["test/host/local-download.test.ts"],
  },
];
