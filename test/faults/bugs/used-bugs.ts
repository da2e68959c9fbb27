/** Bugs that showed when strangers used what was built, and those that readers put beside them. */
import type { Bug } from "./bugs.ts";

export const usedBugs: readonly Bug[] = [
  {
    name: "folders of the command line are made by Node's own recursion, which never ends below /proc",
    file: "adapters/cli/commands/man.ts",
    from: `  makeFolders(folder);`,
    to: `  process.getBuiltinModule("node:fs").mkdirSync(folder, { recursive: true });`,
    tests: ["test/adapters/cli/unmade-folders.test.ts"],
  },
  {
    name: "a folder is made behind a file",
    file: "adapters/sync/make-folders.ts",
    from: `if (code === "EEXIST" && statSync(path).isDirectory()) return;`,
    to: `if (code === "EEXIST" && statSync(path)) return;`,
    tests: ["test/adapters/sync/make-folders.test.ts"],
  },
  {
    name: "the piece in which a head broke off is searched in quadratic time",
    file: "adapters/h3/unreadable.ts",
    from: `!/\\s/.test(last) && /[?&%]/.test(last)`,
    to: `/^[^\\s]*[?&%]\\S*$/.test(last)`,
    tests: ["test/adapters/h3/unreadable.test.ts"],
  },
  {
    name: "a line of carriage returns is searched in quadratic time",
    file: "adapters/cli/live-progress.ts",
    from: `  while (line[end - 1] === "\\r") end -= 1;`,
    to: `  end = line.replace(/\\r+$/, "").length;`,
    tests: ["test/adapters/cli/live-progress.test.ts"],
  },
  {
    name: "a number of a metric is searched in quadratic time",
    file: "lib/agent/metrics/prometheus-text.ts",
    from: `(\\d+(?:\\.\\d*)?|`,
    to: `(\\d+\\.?\\d*|`,
    tests: ["test/agent/metrics/prometheus-text.test.ts"],
  },
  {
    name: "an option of a change that is not known is left out",
    file: "lib/document-version.ts",
    from: `    ...unknown.map(`,
    to: `    ...unknown.slice(unknown.length).map(`,
    tests: ["test/document-version.test.ts"],
  },
  {
    name: "keys of the options are made Admin before the one that is none is found",
    file: "lib/access/first-admins.ts",
    from: `    return { admin, key: keyOf(admin.public_key, { at, crypto: context.crypto }) };
  });
  for (const { admin, key } of admins) {`,
    to: `    return { admin, at };
  });
  for (const { admin, at } of admins) {
    const key = keyOf(admin.public_key, { at, crypto: context.crypto });`,
    tests: ["test/access/first-admins.test.ts"],
  },
  {
    name: "of two notes of an epoch that are of two orchestrators the copy counts",
    file: "lib/agent/followed-epoch.ts",
    from: `[this.#copyPath, this.#path]`,
    to: `[this.#path, this.#copyPath]`,
    tests: ["test/agent/followed-epoch.test.ts"],
  },
  {
    name: "who was put back takes the next place as if it was its own",
    file: "lib/operations/named-handover.ts",
    from: `...(!isBack && over && { named_over: over }) };`,
    to: `...(over && { named_over: over }) };`,
    tests: ["test/operations/named-handover.test.ts"],
  },
  {
    name: "an agent of which a plan can't know all counts as one that nothing changes",
    file: "lib/rollouts/recap.ts",
    from: `  return changed + would_change + unknown > 0 ?`,
    to: `  return changed + would_change + Math.min(0, unknown) > 0 ?`,
    tests: ["test/rollouts/recap.test.ts"],
  },
  {
    name: "a character across the seam of two pieces of a recording is torn",
    file: "lib/terminals/transcript.ts",
    from: `decoder.decode(piece, { stream: true })`,
    to: `decoder.decode(piece)`,
    tests: ["test/terminals/transcript-pieces.test.ts"],
  },
  {
    name: "a key for several calls over tRPC is taken",
    file: "adapters/h3/trpc.ts",
    from: `if (request.idempotency_key !== null && info.calls.length > 1)`,
    to: `if (request.idempotency_key !== null && info.calls.length > 20)`,
    tests: ["test/adapters/h3/trpc-keyed-calls.test.ts"],
  },
  {
    name: "the limit of strangers' bodies over tRPC is looked for in the first call alone",
    file: "adapters/h3/trpc.ts",
    from: `limits[names.some((name) => open.has(name)) ?`,
    to: `limits[open.has(names[0] ?? "") ?`,
    tests: ["test/adapters/h3/trpc-bodies.test.ts"],
  },
  {
    name: "a server's logger is not handed on to what answers requests",
    file: "adapters/h3/server.ts",
    from: `...(options.logger && { logger: options.logger }),`,
    to: `...(options.logger && {}),`,
    tests: ["test/adapters/h3/server.test.ts"],
  },
  {
    name: "a declared link that is somebody else's counts as root's",
    file: "lib/state/run/real-paths.ts",
    from: `if (declared !== undefined && declared !== target) return`,
    to: `if (declared !== undefined) return`,
    tests: ["test/state/path-identities.test.ts"],
  },
  {
    name: "a line that an apply repaired is brought back as somebody edited it",
    file: "lib/state/resources/line.ts",
    from: `!sought.some((pattern) => matchesPattern(pattern, line))`,
    to: `!sought.some((pattern) => pattern === line)`,
    tests: ["test/state/resources/line.test.ts"],
  },
  {
    name: "a listener that gives a promise which is rejected ends the process",
    file: "lib/feed/feed.ts",
    from: `if (told instanceof Promise) told.catch(fail);`,
    to: `if (told instanceof Promise) void told;`,
    tests: ["test/event-feed/event-feed.test.ts"],
  },
  {
    name: "a logger that throws refuses a call that was made",
    file: "lib/options.ts",
    from: `logger: toSteadyLogger(logger) }`,
    to: `logger: logger.debug === toSteadyLogger(logger).debug ? toSteadyLogger(logger) : logger }`,
    tests: ["test/orchestrator.test.ts"],
  },
  {
    name: "an address of a server that names a user is called, and shown",
    file: "adapters/client/http.ts",
    from: `  if (fault !== null) throw new TypeError(fault);`,
    to: `  if (fault !== null && !fault.includes("user")) throw new TypeError(fault);`,
    tests: ["test/adapters/client/client.test.ts"],
  },
  {
    name: "a call that is not to be sent again waits for the end of the pause",
    file: "adapters/client/retry.ts",
    from: `await pause(Math.max(asked, pauseMs), ends.signal, ends.noRetry);`,
    to: `await pause(Math.max(asked, pauseMs), ends.signal);`,
    tests: ["test/adapters/client/no-retry.test.ts"],
  },
  {
    name: "a data folder that another server makes at the same time can't be used",
    file: "lib/storage/file/disk.ts",
    from: `if (errorCodeOf(error) !== "EEXIST" || !statSync(folder).isDirectory()) throw error;`,
    to: `throw error;`,
    tests: ["test/storage/file/made-folders.test.ts"],
  },
  {
    name: "a folder that another command makes in between can't be used",
    file: "adapters/sync/make-folders.ts",
    from: `    makeFolder(path, mode, left - 1);`,
    to: `    mkdirSync(path, { mode });`,
    tests: ["test/adapters/cli/unmade-folders.test.ts"],
  },
];
