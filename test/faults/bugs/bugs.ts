/** Bugs that are put in on purpose, one at a time: each must make a test fail. */

/** A bug: a text of a source that is there once, and what stands in its place. */
export interface Bug {
  name: string;
  file: string;
  from: string;
  /** Default: nothing. */
  to?: string;
  /** Test files of which at least one must fail. */
  tests: readonly string[];
  /** Seeds that these tests take, as "0-199". Default: those of the usual run. */
  seeds?: string;
}

export const powerLoss = ["test/faults/power-loss.test.ts"];
const conformance = ["test/storage/conformance.test.ts"];
export const journal = "lib/storage/file/journal.ts";
export const snapshot = "lib/storage/file/snapshot.ts";
export const logFile = "lib/storage/file/log-file.ts";
export const blobs = "lib/storage/file/blobs.ts";

/** Other bugs, of the kinds that storages are known for. */
export const plainBugs: readonly Bug[] = [
  {
    name: "the checksum of a record is not compared",
    file: "lib/storage/file/record.ts",
    from: `  if (crc32(bytes.subarray(at + sequenceAt, textEnd)) !== parseInt(head[2] as string, 16)) return null;\n`,
    tests: ["test/faults/damage.test.ts", "test/storage/recovery.test.ts"],
  },
  {
    name: "the checksum of the snapshot is not compared",
    file: snapshot,
    from: `crc32(content.subarray(0, end)) !== parseInt(checksum, 16)`,
    to: `checksum === ""`,
    tests: ["test/faults/damage.test.ts"],
  },
  {
    name: "a commit is applied before it is written",
    file: "lib/storage/file/commit-pump.ts",
    from: `        await this.#target.write(batch.effects, { reserve });`,
    to: `        this.#target.apply(batch.effects);\n        await this.#target.write(batch.effects, { reserve });`,
    tests: ["test/storage/failures.test.ts"],
  },
  {
    name: "a commit resolves before it is written",
    file: "lib/storage/file/commit-pump.ts",
    from: `        await this.#target.write(batch.effects, { reserve });`,
    to: `        for (const item of decided) settle(item);\n        await this.#target.write(batch.effects, { reserve });`,
    tests: powerLoss,
  },
  {
    name: "sequences begin again after everything was trimmed",
    file: "lib/storage/database.ts",
    from: `    } else if (effect.kind === "trim") this.#logToChange(effect.log).base = effect.base;`,
    to: `    } else if (effect.kind === "trim") {\n      const log = this.#logToChange(effect.log);\n      log.base = effect.base;\n      if (log.head.sequence === effect.base.sequence) Object.assign(log, { head: logStart(true), base: logStart(true) });\n    }`,
    tests: conformance,
  },
  {
    name: "the expected revision may be one too high",
    file: "lib/storage/staging.ts",
    from: `expected === actual) return actual;`,
    to: `expected - actual <= 1) return actual;`,
    tests: conformance,
  },
  {
    name: "the writes before a conflict stay",
    file: "lib/storage/staging.ts",
    from: `      result.revisions.push(write.kind === "put" ? commit.#put(write) : 0);`,
    to: `      try {\n        result.revisions.push(write.kind === "put" ? commit.#put(write) : 0);\n      } catch (error) {\n        for (const effect of commit.effects) this.add(effect);\n        throw error;\n      }`,
    tests: conformance,
  },
  {
    name: "a trim removes one segment too many",
    file: logFile,
    from: `<= base + 1) {\n        await`,
    to: `<= base + 3) {\n        await`,
    tests: [...conformance, ...powerLoss],
  },
  {
    name: "a torn end is not cut off",
    file: "lib/storage/file/journal-segment.ts",
    from: `    if (isTorn) await file.truncate(end);
    // What a killed process took back may not be taken back on the disk.
    await file.sync();
    await refill(file, { from: isTorn ? end : content.length, to: segmentBytes });`,
    to: `    await file.sync();
    if (!isTorn) await refill(file, { from: content.length, to: segmentBytes });`,
    tests: ["test/storage/recovery.test.ts"],
  },
  {
    name: "a torn record in the middle of the journal is taken for its end",
    file: "lib/storage/file/journal-replay.ts",
    from: `(!isLast || hasRecordBehind(content, at))`,
    to: `hasRecordBehind(content, content.length)`,
    tests: ["test/storage/recovery.test.ts", "test/faults/damage.test.ts"],
  },
  {
    name: "a gap in the journal is not noticed",
    file: "lib/storage/file/journal-replay.ts",
    from: `if (record.sequence > this.sequence + 1) {`,
    to: `if (record.sequence > this.sequence + 1_000_000) {`,
    tests: ["test/storage/recovery.test.ts"],
  },
  {
    name: "a record that is in the snapshot is applied again",
    file: "lib/storage/file/journal-replay.ts",
    from: `if (record.sequence > this.sequence) {`,
    to: `if (record.sequence >= this.sequence) {`,
    tests: powerLoss,
  },
  {
    name: "the snapshot leaves its last collection out",
    file: "lib/storage/file/snapshot-text.ts",
    from: `Object.entries(collections)) {`,
    to: `Object.entries(collections).slice(0, -1)) {`,
    tests: powerLoss,
  },
  {
    name: "the snapshot says that it holds one record more",
    file: "lib/storage/file/checkpoints.ts",
    from: `      sequence: journal.sequence,`,
    to: `      sequence: journal.sequence + 1,`,
    tests: powerLoss,
  },
  {
    name: "the journal is dropped before the logs are synced",
    file: "lib/storage/file/checkpoints.ts",
    from: `      await this.#persistLogs();\n      // What the journal says is done before it is dropped.\n      await dropped.settled();\n      if (journal.failure !== null) throw journal.failure;\n      await low.write();\n      dropped.endCheckpoint();\n      if (journal.failure !== null) throw journal.failure;\n      await journal.dropBefore(keepFrom);`,
    to: `      await journal.dropBefore(keepFrom);\n      await this.#persistLogs();\n      await low.write();`,
    tests: powerLoss,
  },
  {
    name: "a blob that is made anew is not kept from the replay of its drop",
    file: "lib/storage/file/dropped-blobs.ts",
    from: `while (this.has(id)) {`,
    to: `while (this.has(id) && id === "") {`,
    tests: [...conformance, "test/storage/dropped-blobs.test.ts"],
  },
  {
    name: "a snapshot stands for drops whose files are still there",
    file: "lib/storage/file/checkpoints.ts",
    from: `      await dropped.settled();\n`,
    to: ``,
    tests: ["test/storage/dropped-blobs.test.ts"],
  },
  {
    name: "a failed write is not taken back",
    file: journal,
    from: `      await file.truncate(end);\n      await file.sync();\n      if (isO`,
    to: `      if (isO`,
    tests: [...powerLoss, "test/storage/failures.test.ts"],
  },
  {
    name: "writing goes on after a failed sync",
    file: journal,
    from: `    if (this.#failure !== null) return;\n    this.#failure = reason;`,
    to: `    if (this.#failure !== null) return;`,
    tests: ["test/storage/failures.test.ts"],
  },
  {
    name: "the lock of a live process is ignored",
    file: "lib/native/file-lock.ts",
    from: `    if (holder !== null && isHeldByFile(holder)) return { heldBy: holder.pid };\n    if (found`,
    to: `    if (found`,
    tests: ["test/storage/file/lock.test.ts"],
  },
  {
    name: "the kernel is not asked for the lock",
    file: "lib/native/file-lock.ts",
    from: `    if (flock(fd, lockExclusive | lockNoWait) !== 0)`,
    to: `    if (flock(fd, 8) !== 0)`,
    tests: ["test/storage/file/lock.test.ts", "test/native/file-lock.test.ts"],
  },
  {
    name: "the checksum of what the agent keeps is not compared",
    file: "lib/agent/sealed-text.ts",
    from: `  if (stated !== undefined && stated !== checksumOf(body)) return null;\n`,
    tests: ["test/faults/agent-damage.test.ts"],
  },
  {
    name: "nobody compares how far the journal goes with how far it must",
    file: "lib/storage/file/journal-replay.ts",
    from: `sequence < head.sequence && !isCut`,
    to: `sequence < 0 && !isCut`,
    tests: ["test/faults/lost-files.test.ts"],
  },
  {
    name: "a commit does not look whether its journal is still there",
    file: journal,
    from: `      if (!this.#isInPlace(active)) throw folderGone();\n`,
    tests: ["test/faults/lost-folder.test.ts"],
  },
  {
    name: "close does not wait for commits under way",
    file: "lib/storage/file-storage.ts",
    from: `      () => this.#pump.idle(),\n      () => blobs.settled(),\n`,
    to: `      () => Promise.all([blobs]),\n`,
    tests: conformance,
  },
  {
    name: "a newer connection takes the place of an older one without a question",
    file: "lib/transport/socket-transport.ts",
    from: `      if (await holder.answers()) return holder;\n`,
    tests: ["test/transport/conformance.test.ts"],
  },
  {
    name: "a dead connection is found, and keeps its place",
    file: "lib/transport/socket-transport.ts",
    from: `      holder.giveWay();\n`,
    tests: ["test/transport/conformance.test.ts"],
  },
  {
    name: "an append to a blob that failed leaves a part",
    file: blobs,
    from: `      await file.truncate(size);\n`,
    tests: [...conformance, "test/storage/failures.test.ts"],
  },
];
