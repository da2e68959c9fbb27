import type { Bug } from "./bugs.ts";

/** Bugs that a reader of the sources chose, and no test noticed. */
export const missedBugs: readonly Bug[] = [
  {
    name: "a package that somebody installed since, and a later version took along, stays away",
    file: "lib/state/resources/package/look.ts",
    from: `.filter((name) => stood.has(name) || !autos.has(name))`,
    to: `.filter((name) => stood.has(name))`,
    tests: ["test/state/resources/package/side-effects.test.ts"],
  },
  {
    name: "what goes with a package of ours comes back with what was there before",
    file: "lib/state/resources/package/look.ts",
    from: `removes.filter((name) => !withOurs.includes(name))`,
    to: `removes`,
    tests: ["test/state/resources/package/side-effects.test.ts"],
  },
  {
    name: "a plan waits for what a package brings that is to go",
    file: "lib/state/foreseen/foresight.ts",
    from: `isRemoval: removal || isToBeAbsent(spec), until`,
    to: `isRemoval: removal, until`,
    tests: ["test/state/foreseen/unknown.test.ts"],
  },
  {
    name: "a message that is too large for the protocol breaks the suite's promise unseen",
    file: "lib/testing/transport-delivery-cases.ts",
    from: `check((await codeOf(transport.send(one.nodeId, message))) === "PAYLOAD_TOO_LARGE", "a message");`,
    to: `await codeOf(transport.send(one.nodeId, message));`,
    tests: ["test/transport/conformance-finds.test.ts"],
  },
  {
    name: "an error of a storage of one's own is a fault of the page that says whether the server is ready",
    file: "adapters/h3/pages.ts",
    from: `throw isOrchestratorError(error) ? error : notReady(error);`,
    to: `throw error;`,
    tests: ["test/adapters/h3/app.test.ts"],
  },
  {
    name: "a history is counted back from the caller's time",
    file: "adapters/cli/commands/metrics.ts",
    from: `return "at" in time ? { [end]: time.at } : { [\`\${end}_seconds_ago\`]: time.secondsAgo };`,
    to: `return { [end]: new Date(timeOf(time)).toISOString() };`,
    tests: ["test/adapters/cli/metrics.test.ts"],
  },
  {
    name: "two backups that were asked for at once are made at once",
    file: "lib/storage/file/folder-backup.ts",
    from: `AsyncGenerator<Uint8Array> {\n    this.#checkFree();\n`,
    to: `AsyncGenerator<Uint8Array> {\n`,
    tests: ["test/storage/backup.test.ts"],
  },
  {
    name: "a thing that was captured twice comes back to what stood the first time after a kill",
    file: "lib/agent/cut-operation.ts",
    from: `.captured = entry;`,
    to: `.captured ??= entry;`,
    tests: ["test/agent/kept-after-cut.test.ts"],
  },
];
