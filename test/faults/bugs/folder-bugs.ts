/** Bugs of the steps in which files of the data folder are written, put in place and removed. */
import type { Bug } from "./bugs.ts";

export const folderBugs: readonly Bug[] = [
  {
    name: "chunks that a full disk took in part are found by the next start",
    file: "lib/storage/file/series/chunk-files.ts",
    from: `      await target.file.truncate(at);\n`,
    tests: ["test/storage/file/series/full-chunks.test.ts"],
  },
  {
    name: "a file of chunks that can't be removed now stays until the next start",
    file: "lib/storage/file/series/chunk-files.ts",
    from: `      await this.#options.disk.remove(file.path);
      this.#files = this.#files.filter((other) => other !== file);
`,
    to: `      this.#files = this.#files.filter((other) => other !== file);
      await this.#options.disk.remove(file.path);
`,
    tests: ["test/storage/file/series/full-chunks.test.ts"],
  },
  {
    name: "a journal of the newest samples that can't be closed stays beside the one that goes on",
    file: "lib/storage/file/series/head-journal.ts",
    from: `await file.close().catch(() => {});`,
    to: `await file.close();`,
    tests: ["test/storage/file/series/full-journal.test.ts"],
  },
  {
    name: "a segment of the journal that can't be removed now stays until the next start",
    file: "lib/storage/file/journal.ts",
    from: `      await this.#options.disk.remove(segment.path);
      this.#older = this.#older.filter((other) => other !== segment);
`,
    to: `      this.#older = this.#older.filter((other) => other !== segment);
      await this.#options.disk.remove(segment.path);
`,
    tests: ["test/storage/kept-segments.test.ts"],
  },
  {
    name: "what was accepted as lost is written over before the new text is whole",
    file: "lib/storage/file/loss-record.ts",
    from: "const draft = `${this.#path}.tmp`;",
    to: "const draft = this.#path;",
    tests: ["test/storage/file/loss-record.test.ts"],
  },
  {
    name: "a draft of what was accepted as lost stays",
    file: "lib/storage/file/loss-record.ts",
    from: `      await this.#disk.remove(draft).catch(() => {});\n`,
    tests: ["test/storage/file/loss-record.test.ts"],
  },
  {
    name: "a trim is in the journal before the rows that it leaves",
    file: "lib/storage/file/series/head-journal.ts",
    from: `if (whole && out.length > frameBytes)`,
    to: `if (out.length > frameBytes)`,
    tests: ["test/storage/file/series/journal-steps.test.ts"],
  },
  {
    name: "rows whose sync found no space are taken for durable",
    file: "lib/storage/file/series/head-journal.ts",
    from: `    await this.#file?.sync();
    this.#size = end;
    for (const [head, bytes] of written) head.durableBytes = bytes;
`,
    to: `    for (const [head, bytes] of written) head.durableBytes = bytes;
    await this.#file?.sync();
    this.#size = end;
`,
    tests: ["test/storage/file/series/journal-steps.test.ts"],
  },
  {
    name: "rows that come while others are written are taken for durable",
    file: "lib/storage/file/series/head-journal.ts",
    from: `head.durableBytes = bytes;`,
    to: `head.durableBytes = Math.max(bytes, head.length);`,
    tests: ["test/storage/file/series/journal-steps.test.ts"],
  },
  {
    name: "samples of who never comes again are kept for ever after a start",
    file: "lib/storage/file/series/file-series.ts",
    from: `    if (this.#needsUpkeep) this.#arm();\n  }\n\n  fault`,
    to: `  }\n\n  fault`,
    tests: ["test/storage/file/series/quiet-start.test.ts"],
  },
  {
    name: "the files of the last samples of all stay",
    file: "lib/storage/file/series/file-series.ts",
    from: ` || tiers.some((tier) => this.#files[tier].bytes > 0)`,
    tests: ["test/storage/file/series/quiet-start.test.ts"],
  },
  {
    name: "a chunk that came after a trim goes at the next start",
    file: "lib/storage/file/series/owner-series.ts",
    from: `chunk.last <= trim.last && chunk.to`,
    to: `chunk.to`,
    tests: ["test/storage/file/series/late-rows.test.ts"],
  },
  {
    name: "a trim hides what comes next, too",
    file: "lib/storage/file/series/live-series.ts",
    from: `last: this.lastHead }`,
    to: `last: this.lastHead + 1 }`,
    tests: ["test/storage/file/series/late-rows.test.ts"],
  },
  {
    name: "a later trim of an earlier time takes the place of the one before it",
    file: "lib/storage/file/series/owner-series.ts",
    from: `...this.trims.filter(({ before }) => before > trim.before), trim`,
    to: `trim`,
    tests: ["test/storage/file/series/late-rows.test.ts"],
  },
  {
    name: "an owner is forgotten with trims that still count",
    file: "lib/storage/file/series/owner-series.ts",
    from: `recent.length + trims.length === 0`,
    to: `recent.length === 0`,
    tests: ["test/storage/file/series/late-rows.test.ts"],
  },
  {
    name: "what was trimmed while a backup was made stays when it ends",
    file: "lib/storage/file/log-file.ts",
    from: `      return this.trim(this.#base);`,
    to: `      return Promise.resolve();`,
    tests: ["test/storage/file/log-file.test.ts"],
  },
  {
    name: "what was trimmed while a backup was made is forgotten",
    file: "lib/storage/file/log-file.ts",
    from: `    this.#base = Math.max(this.#base, base);\n`,
    tests: ["test/storage/file/log-file.test.ts"],
  },
  {
    name: "a segment of a log goes with an entry that is kept",
    file: "lib/storage/file/log-file.ts",
    from: `(this.#segments[1]?.first ?? Infinity) <= base + 1`,
    to: `(this.#segments[1]?.first ?? Infinity) <= base + 2`,
    tests: ["test/storage/file/log-file.test.ts"],
  },
  {
    name: "a segment of a log stays whose last entry was trimmed",
    file: "lib/storage/file/log-file.ts",
    from: `(this.#segments[1]?.first ?? Infinity) <= base + 1`,
    to: `(this.#segments[1]?.first ?? Infinity) <= base`,
    tests: ["test/storage/file/log-file.test.ts"],
  },
  {
    name: "the segments of a log that was trimmed whole stay",
    file: "lib/storage/file/log-file.ts",
    from: `if (base >= persisted) await`,
    to: `if (base > persisted) await`,
    tests: ["test/storage/file/log-file.test.ts"],
  },
  {
    name: "entries of a log that found no space once wait in memory from then on",
    file: "lib/storage/file/log-file.ts",
    from: `        this.#flushScheduled = false;\n        this.#options.onError`,
    to: `        this.#options.onError`,
    tests: ["test/storage/file/log-file.test.ts"],
  },
  {
    name: "blobs that were deleted while a killed process made a backup stay",
    file: "lib/storage/file/blobs.ts",
    from: `    await this.#removeAll(deletedSuffix);\n    await this.#removeAll(draftSuffix);`,
    to: `    await this.#removeAll(draftSuffix);`,
    tests: ["test/storage/killed-backup.test.ts"],
  },
  {
    name: "the draft of a blob that a killed process was making stays",
    file: "lib/storage/file/blobs.ts",
    from: `    await this.#removeAll(draftSuffix);\n`,
    tests: ["test/storage/killed-backup.test.ts"],
  },
  {
    name: "what an undo that failed needs is taken away all the same",
    file: "lib/state/run/walk.ts",
    from: `  if (staying !== null) return skippedFor(staying);\n`,
    tests: ["test/state/removal/needed-by-what-stays.test.ts"],
  },
  {
    name: "what is as before, although taking it away failed, holds up what it needed",
    file: "lib/state/run/walk.ts",
    from: `(outcome === "failed" && !isAsBefore)`,
    to: `(outcome === "failed" && (isAsBefore || !isAsBefore))`,
    tests: ["test/state/removal/needed-by-what-stays.test.ts"],
  },
  {
    name: "a folder that purges takes what stays for an undo",
    file: "lib/state/run/walk.ts",
    from: `if (isLeft(item, result)) state.left.note`,
    to: `if (isLeft(item, result) && result.outcome === "failed") state.left.note`,
    tests: ["test/state/removal/needed-by-what-stays.test.ts"],
  },
  {
    name: "what stays for an undo that failed is not believed to be there",
    file: "lib/operations/applied-modules.ts",
    from: `"cancelled", "dependency"]`,
    to: `"cancelled"]`,
    tests: ["test/operations/left-in-place.test.ts"],
  },
  {
    name: "an archive begins where others have something in a folder that becomes a file",
    file: "lib/state/resources/archive/extract.ts",
    from: `const isInWay = stat?.kind === "directory" && kind`,
    to: `const isInWay = stat?.kind === "directory" && own.get(name)?.kind !== "folder" && kind`,
    tests: ["test/state/resources/archive/links.test.ts"],
  },
  {
    name: "what others have deep in a folder that becomes a file is not seen",
    file: "lib/state/resources/archive/stamp.ts",
    from: `return files.list(path).some((each) => staysFilled(folder, \`\${name}/\${each}\`, { going, files }));`,
    to: `return files.list(path).some((each) => !going.has(\`\${name}/\${each}\`));`,
    tests: ["test/state/resources/archive/links.test.ts"],
  },
  {
    name: "what is to make way for a file stays for an undo that failed",
    file: "lib/state/run/failures.ts",
    from: `|| this.#isTaken(item, places)`,
    to: ``,
    tests: ["test/state/removal/needed-by-what-stays.test.ts"],
  },
  {
    name: "an archive takes what stays in its folder for an undo",
    file: "lib/state/run/failures.ts",
    from: `if (holding.length > 0) return`,
    to: `if (holding.length > 1_000_000) return`,
    tests: ["test/state/removal/needed-by-what-stays.test.ts"],
  },
  {
    name: "a .git without its refs goes with the commits that it holds",
    file: "lib/state/resources/git/folder.ts",
    from: `  if (hasHead(place, machine) && !isEmptyStore(place.path, machine.host.files)) return false;\n`,
    tests: ["test/state/begun-remains.test.ts"],
  },
  {
    name: "what somebody put beside a declared file goes with a .git that git can't read",
    file: "lib/state/resources/git/folder.ts",
    from: `  return goingWith(place, machine).every((name) => name === ".git");`,
    to: `  return goingWith(place, machine).some((name) => name === ".git");`,
    tests: ["test/state/begun-remains.test.ts"],
  },
  {
    name: "a home goes with its user, and with it what stays there for an undo",
    file: "lib/state/run/failures.ts",
    from: `[target, read(resource, types).target]`,
    to: `[target]`,
    tests: ["test/state/removal/needed-by-what-stays.test.ts"],
  },
];
