/** Bugs of a storage one call of whose disk fails: files that stay open, and writers that stay shut. */
import type { Bug } from "./bugs.ts";

const tests = ["test/each-disk-call.test.ts"];
const ofAgent = ["test/agent/each-file-call.test.ts"];

export const diskBugs: readonly Bug[] = [
  {
    name: "a file of the journal that can't be closed leaves the others open",
    file: "lib/storage/file/errors.ts",
    from: `      failures.push(error);\n`,
    to: `      throw error;\n`,
    tests,
  },
  {
    name: "a segment that can't be continued stays open",
    file: "lib/storage/file/journal-segment.ts",
    from: `await takeEach([() => file.close()]).catch(() => {});`,
    tests,
  },
  {
    name: "a blob whose size can't be read stays open",
    file: "lib/storage/file/blobs.ts",
    from: `      try {
        const size = file === null ? 0 : await file.size();`,
    to: `      const size = file === null ? 0 : await file.size();
      try {`,
    tests,
  },
  {
    name: "a backup that can't let go of one thing keeps the others",
    file: "lib/storage/file/folder-parts.ts",
    from: `await takeEach(releases);`,
    to: `for (const release of releases) await release();`,
    tests,
  },
  {
    name: "a change that is on the disk is refused because its head can't be noted",
    file: "lib/storage/file/journal.ts",
    from: `      // The record is durable, and that is the answer. The next one is refused.
      this.fail(finalFailure(error));`,
    to: `      this.fail(finalFailure(error));
      throw error;`,
    tests,
  },
  {
    name: "a process that has no file for the next segment writes nothing any more",
    file: "lib/storage/file/journal.ts",
    from: `!isFull && !isPassing(error)`,
    to: `!isFull`,
    tests: ["test/storage/next-segment.test.ts"],
  },
  {
    name: "a segment of a log that can't be closed is written to for ever",
    file: "lib/storage/file/log-file.ts",
    from: `    this.#file = file;
    this.#segments.push(segment);
    this.#unsyncedNames = true;`,
    to: `    this.#segments.push(segment);
    this.#unsyncedNames = true;`,
    tests,
  },
  {
    name: "a head that finds no space ends all writing",
    file: "lib/storage/file/journal.ts",
    from: `if (!isOrchestratorError(error, "STORAGE_FULL")) this.fail(finalFailure(error));`,
    to: `this.fail(finalFailure(error));`,
    tests,
  },
  {
    name: "the next segment is filled after the disk has failed",
    file: "lib/storage/file/journal-segment.ts",
    from: `    mayWrite();\n`,
    tests: ["test/storage/next-segment.test.ts"],
  },
  {
    name: "one chunk of samples that can't be closed leaves the others open",
    file: "lib/storage/file/series/file-series.ts",
    from: `      ...tiers.map((tier) => () => this.#files[tier].close()),
      () => this.#journal.close(),`,
    to: `      async () => {
        for (const tier of tiers) await this.#files[tier].close();
        await this.#journal.close();
      },`,
    tests,
  },
  {
    name: "a backup takes heads that were replaced where their file could not be closed",
    file: "lib/storage/file/series/head-journal.ts",
    from: `    const old = this.#old.splice(0, Infinity, path);`,
    to: `    await before.file?.close();
    const old = this.#old.splice(0, Infinity, path);`,
    tests: ["test/storage/file/series/full-journal.test.ts"],
  },
  {
    name: "bytes of a blob that are on the disk are refused because of the close behind them",
    file: "lib/storage/file/blobs.ts",
    from: `await file?.close().catch(() => {});`,
    to: `await file?.close();`,
    tests,
  },
  {
    name: "a file of the agent whose size can't be read stays open",
    file: "lib/agent/durable-file.ts",
    from: `    try {
      const { size } = fstatSync(file);
      try {`,
    to: `    const { size } = fstatSync(file);
    try {
      try {`,
    tests: ofAgent,
  },
  {
    name: "a line of the agent that is on the disk is refused because of the close behind it",
    file: "lib/agent/durable-file.ts",
    from: `  } catch {
    // The descriptor is free all the same (close(2)).
  }`,
    to: `  } finally {
    file += 0;
  }`,
    tests: ofAgent,
  },
];
