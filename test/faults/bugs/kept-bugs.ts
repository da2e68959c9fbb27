/** Bugs of what is held too long or not long enough: connections, open files, timers, and what must begin anew. */
import type { Bug } from "./bugs.ts";

export const keptBugs: readonly Bug[] = [
  {
    name: "a download holds the connection to a server whose answer is of no use",
    file: "lib/host/local-download.ts",
    from: `    response.destroy();\n`,
    to: ``,
    tests: ["test/host/local-download.test.ts"],
  },
  {
    name: "a download that is cancelled while its last bytes are written is put in its place",
    file: "lib/host/local-download.ts",
    from: `        signal.throwIfAborted();\n        put`,
    to: `        put`,
    tests: ["test/host/local-download.test.ts"],
  },
  {
    name: "a folder of somebody else stays open once what was written there is durable",
    file: "lib/host/local-sync.ts",
    from: `    for (const held of byDevice.values()) held.release();\n`,
    to: ``,
    tests: ["test/host/given-back.test.ts"],
  },
  {
    name: "a recording is made durable once, and never again",
    file: "lib/terminals/recorder.ts",
    from: `      this.#sync = null;\n`,
    to: ``,
    tests: ["test/terminals/terminal-ends.test.ts"],
  },
  {
    name: "an agent whose terminal can't be recorded any more is told nothing",
    file: "lib/terminals/live-terminal.ts",
    from: `    for (const command of closingCommands("recording_failed")) void this.#send(command);\n`,
    to: ``,
    tests: ["test/terminals/terminal-ends.test.ts"],
  },
  {
    name: "an agent waits for what its last connection began alone, not for what the one before did",
    file: "lib/agent/agent-link.ts",
    from: `Promise.all([this.#earlier, connection.settled()]).then(() => {})`,
    to: `connection.settled()`,
    tests: ["test/agent/earlier-connections.test.ts"],
  },
  {
    name: "an operation whose acceptance failed is there after the next start",
    file: "lib/agent/operation-journal.ts",
    from: `      removeFile(path);\n      throw error;`,
    to: `      throw error;`,
    tests: ["test/agent/operation-journal.test.ts"],
  },
  {
    name: "a result is acknowledged before what it applied is on disk",
    file: "lib/agent/result-delivery.ts",
    from: `    this.#options.applied.save();\n    this.#options.journal.acknowledge(operationId);`,
    to: `    this.#options.journal.acknowledge(operationId);\n    this.#options.applied.save();`,
    tests: ["test/agent/result-delivery.test.ts"],
  },
  {
    name: "what a program of a terminal prints after much is held back for good",
    file: "lib/agent/terminal/agent-terminals.ts",
    from: `      this.#gathering = null;\n`,
    to: ``,
    tests: ["test/agent/terminal/agent-terminals.test.ts"],
  },
  {
    name: "what a full disk took of a recording is forgotten by a sync that found no space",
    file: "lib/storage/file/blob-file-writer.ts",
    from: `      this.#wasCut ||= wasCut;\n`,
    to: `      void wasCut;\n`,
    tests: ["test/storage/file/blob-file-writer.test.ts"],
  },
];
