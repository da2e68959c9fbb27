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
}

const powerLoss = ["test/faults/power-loss.test.ts"];
const failedSync = ["test/faults/failed-sync.test.ts"];
const seriesPowerLoss = ["test/storage/file/series/power-loss.test.ts"];
const systemCalls = ["test/faults/synced-calls.test.ts"];
const conformance = ["test/storage/conformance.test.ts"];
const journal = "lib/storage/file/journal.ts";
const snapshot = "lib/storage/file/snapshot.ts";
const logFile = "lib/storage/file/log-file.ts";
const blobs = "lib/storage/file/blobs.ts";
const folder = "lib/storage/file/folder.ts";
const disk = "lib/storage/file/disk.ts";
const headJournal = "lib/storage/file/series/head-journal.ts";
const chunkFiles = "lib/storage/file/series/chunk-files.ts";
const seriesWriter = "lib/storage/file/series/series-writer.ts";
const durableFile = "lib/agent/durable-file.ts";

/** Every sync of the storage and of the agent's files, left out. */
export const lostSyncs: readonly Bug[] = [
  {
    name: "the segment that a start goes on with is not opened for synced writes",
    file: journal,
    from: `const file = await this.#options.disk.open(path, "durable");`,
    to: `const file = await this.#options.disk.open(path, "write");`,
    tests: powerLoss,
  },
  {
    name: "a new segment is not opened for synced writes",
    file: journal,
    from: `const file = await disk.open(path, "durable");`,
    to: `const file = await disk.open(path, "write");`,
    tests: powerLoss,
  },
  {
    name: "what a killed process took back in the journal is not synced",
    file: journal,
    from: `    await file.sync();\n    // Its last`,
    to: `    // Its last`,
    tests: failedSync,
  },
  {
    name: "the last record that a killed process left is not written again",
    file: journal,
    from: `    if (last < end) await file.write(content.subarray(last, end), last);\n`,
    tests: failedSync,
  },
  {
    name: "a write that was taken back is not synced",
    file: journal,
    from: `      await file.sync();\n      if (isOrchestratorError`,
    to: `      if (isOrchestratorError`,
    tests: powerLoss,
  },
  {
    name: "the name of a new journal segment is not synced",
    file: journal,
    from: `      await disk.syncFolder(folder);\n`,
    tests: powerLoss,
  },
  {
    name: "the snapshot is not synced",
    file: snapshot,
    from: `      await file.sync();\n`,
    tests: powerLoss,
  },
  {
    name: "the name of the snapshot is not synced",
    file: snapshot,
    from: `    await this.#disk.syncFolder(dirname(this.#path));\n`,
    tests: powerLoss,
  },
  {
    name: "a log segment is not synced before the journal is dropped",
    file: logFile,
    from: `      await this.#sync();\n      if (this.#unsyncedNames)`,
    to: `      if (this.#unsyncedNames)`,
    tests: powerLoss,
  },
  {
    name: "a full log segment is not synced before the next one is begun",
    file: logFile,
    from: `    await this.#sync();\n    const path`,
    to: `    const path`,
    tests: powerLoss,
  },
  {
    name: "the sync of a log segment does nothing",
    file: logFile,
    from: `      await this.#file?.sync();`,
    to: `      await Promise.resolve();`,
    tests: powerLoss,
  },
  {
    name: "the names of log segments are not synced",
    file: logFile,
    from: `await this.#options.disk.syncFolder(this.#options.folder)`,
    to: `await Promise.resolve()`,
    tests: powerLoss,
  },
  {
    name: "an append to a blob is not synced",
    file: blobs,
    from: `      await file.sync();\n    } catch (error) {\n      await file.truncate(size);`,
    to: `    } catch (error) {\n      await file.truncate(size);`,
    tests: powerLoss,
  },
  {
    name: "a new blob is not synced before it gets its name",
    file: blobs,
    from: `      await file.sync();\n    } catch (error) {\n      await this.#disk.remove(draft);`,
    to: `    } catch (error) {\n      await this.#disk.remove(draft);`,
    tests: powerLoss,
  },
  {
    name: "the name of a new blob is not synced",
    file: blobs,
    from: `      await this.#disk.syncFolder(this.#folder);\n    } catch`,
    to: `    } catch`,
    tests: powerLoss,
  },
  {
    name: "the removal of a blob is not synced",
    file: blobs,
    from: `      else await this.#disk.remove(path);\n      await this.#disk.syncFolder(this.#folder);`,
    to: `      else await this.#disk.remove(path);`,
    tests: powerLoss,
  },
  {
    name: "what a killed process left in a blob is not synced",
    file: blobs,
    from: `      await file.sync();\n    } finally {`,
    to: `    } finally {`,
    tests: powerLoss,
  },
  {
    name: "what a killed process left in a blob is not written again",
    file: blobs,
    from: `await file.write(await file.read(at, rewrittenBytes), at);`,
    to: `await file.read(at, rewrittenBytes);`,
    tests: failedSync,
  },
  {
    name: "a change of a blob is not marked",
    file: blobs,
    from: `    await (await this.#disk.open(mark, "write")).close();\n`,
    tests: powerLoss,
  },
  {
    name: "names that a killed process left among the blobs are not synced",
    file: folder,
    from: `["logs", "blobs"]) await disk.syncFolder`,
    to: `["logs"]) await disk.syncFolder`,
    tests: [...powerLoss, ...systemCalls],
  },
  {
    name: "names of logs that a killed process left are not synced",
    file: folder,
    from: `["logs", "blobs"]) await disk.syncFolder`,
    to: `["blobs"]) await disk.syncFolder`,
    tests: systemCalls,
  },
  {
    name: "the journal of the newest samples is not synced",
    file: headJournal,
    from: `    await this.#file?.sync();\n`,
    tests: seriesPowerLoss,
  },
  {
    name: "the name of a new journal of samples is not synced",
    file: headJournal,
    from: `      await disk.syncFolder(folder);\n`,
    tests: seriesPowerLoss,
  },
  {
    name: "the sync of chunks does nothing",
    file: chunkFiles,
    from: `        await file.file.sync();\n`,
    tests: seriesPowerLoss,
  },
  {
    name: "chunks that a killed process left are taken for synced",
    file: chunkFiles,
    from: `      const file = this.#add(path, await disk.open(path, "update"));`,
    to: `      const file = this.#add(path, await disk.open(path, "update"));\n      file.isSynced = true;`,
    tests: seriesPowerLoss,
  },
  {
    name: "the names of files of chunks that a killed process left are not synced",
    file: chunkFiles,
    from: `      this.#unsyncedNames = true;\n      const path`,
    to: `      const path`,
    tests: seriesPowerLoss,
  },
  {
    name: "the names of files of chunks are not synced",
    file: chunkFiles,
    from: `    await this.#options.disk.syncFolder(this.#options.folder);\n`,
    tests: seriesPowerLoss,
  },
  {
    name: "the writer of samples syncs no chunks",
    file: seriesWriter,
    from: `    for (const tier of tiers) await this.#options.files[tier].sync();\n`,
    tests: seriesPowerLoss,
  },
  {
    name: "chunks are not synced before a trim drops their samples from the journal",
    file: seriesWriter,
    from: `      if (taken.trims.length > 0) await this.#syncFiles();\n`,
    tests: seriesPowerLoss,
  },
  {
    name: "chunks are not synced before a new journal of samples is begun",
    file: seriesWriter,
    from: `    await this.#syncFiles();\n    const { live, files`,
    to: `    const { live, files`,
    tests: seriesPowerLoss,
  },
  {
    name: "chunks are not synced before those that they replace are removed",
    file: seriesWriter,
    from: `    this.#cleanedAt = now;\n    await this.#syncFiles();`,
    to: `    this.#cleanedAt = now;`,
    tests: seriesPowerLoss,
  },
  {
    name: "a durable file is not opened with O_DSYNC",
    file: disk,
    from: `O_RDWR | O_CREAT | O_DSYNC`,
    to: `O_RDWR | O_CREAT`,
    tests: systemCalls,
  },
  {
    name: "sync does nothing",
    file: disk,
    from: `return this.#handle.sync();`,
    to: `return Promise.resolve();`,
    tests: systemCalls,
  },
  {
    name: "the sync of a folder does nothing",
    file: disk,
    from: `    await folder.sync();\n`,
    tests: systemCalls,
  },
  {
    name: "the names of new folders are not synced",
    file: disk,
    from: `made of missing) await syncFolder(dirname(made));`,
    to: `made of missing) dirname(made);`,
    tests: systemCalls,
  },
  {
    name: "the names of the agent's new folders are not synced",
    file: durableFile,
    from: `made of missing) syncFolder(dirname(made));`,
    to: `made of missing) dirname(made);`,
    tests: systemCalls,
  },
  {
    name: "a replaced file of the agent is not synced",
    file: durableFile,
    from: `      fsyncSync(file);\n    } finally {\n      closeSync(file);\n    }\n    renameSync`,
    to: `    } finally {\n      closeSync(file);\n    }\n    renameSync`,
    tests: systemCalls,
  },
  {
    name: "the name of a replaced file of the agent is not synced",
    file: durableFile,
    from: `    renameSync(temporary, path);\n  });\n  syncFolder(dirname(path));`,
    to: `    renameSync(temporary, path);\n  });`,
    tests: systemCalls,
  },
  {
    name: "a new file of the agent is not synced",
    file: durableFile,
    from: `      fsyncSync(file);\n    } finally {\n      closeSync(file);\n    }\n  });\n  syncFolder`,
    to: `    } finally {\n      closeSync(file);\n    }\n  });\n  syncFolder`,
    tests: systemCalls,
  },
  {
    name: "the name of a new file of the agent is not synced",
    file: durableFile,
    from: `      closeSync(file);\n    }\n  });\n  syncFolder(dirname(path));`,
    to: `      closeSync(file);\n    }\n  });`,
    tests: systemCalls,
  },
  {
    name: "a durable line of the agent is not synced",
    file: durableFile,
    from: `      if (options.durable) fsyncSync(file);\n`,
    tests: systemCalls,
  },
  {
    name: "the sync of a folder of the agent does nothing",
    file: durableFile,
    from: `      fsyncSync(folder);\n`,
    tests: systemCalls,
  },
];

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
    to: `        for (const { settled } of settle) settled();\n        await this.#target.write(batch.effects, { reserve });`,
    tests: powerLoss,
  },
  {
    name: "sequences begin again after everything was trimmed",
    file: "lib/storage/database.ts",
    from: `    } else this.#logToChange(effect.log).base = effect.base;`,
    to: `    } else {\n      const log = this.#logToChange(effect.log);\n      log.base = effect.base;\n      if (log.head.sequence === effect.base.sequence) Object.assign(log, { head: logStart(true), base: logStart(true) });\n    }`,
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
    file: journal,
    from: `    if (isTorn) await file.truncate(end);\n`,
    tests: powerLoss,
  },
  {
    name: "a torn record in the middle of the journal is taken for its end",
    file: journal,
    from: `if (!isLast || hasRecordBehind(content, at))`,
    to: `if (hasRecordBehind(content, content.length))`,
    tests: ["test/storage/recovery.test.ts", "test/faults/damage.test.ts"],
  },
  {
    name: "a gap in the journal is not noticed",
    file: journal,
    from: `if (record.sequence !== this.#sequence + 1) {`,
    to: `if (record.sequence < this.#sequence) {`,
    tests: ["test/storage/recovery.test.ts"],
  },
  {
    name: "a record that is in the snapshot is applied again",
    file: journal,
    from: `if (record.sequence > this.#sequence) this`,
    to: `if (record.sequence >= this.#sequence) this`,
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
    from: `      await this.#persistLogs();\n      await this.#parts.low.write();\n      await this.#parts.journal.dropBefore(keepFrom);`,
    to: `      await this.#parts.journal.dropBefore(keepFrom);\n      await this.#persistLogs();\n      await this.#parts.low.write();`,
    tests: powerLoss,
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
    from: `    this.#failure = new OrchestratorError("STORAGE_FAILED", { cause: error });`,
    to: `    return error;`,
    tests: ["test/storage/failures.test.ts"],
  },
  {
    name: "the lock of a live process is ignored",
    file: "lib/storage/file/lock.ts",
    from: `if (holder !== null && isAlive(holder)) {`,
    to: `if (holder !== null && !isAlive(holder)) {`,
    tests: [...conformance, "test/storage/file/lock.test.ts"],
  },
  {
    name: "close does not wait for commits under way",
    file: "lib/storage/file-storage.ts",
    from: `() => Promise.all([this.#pump.idle(), blobs.settled()]),`,
    to: `() => Promise.all([blobs]),`,
    tests: conformance,
  },
  {
    name: "an append to a blob that failed leaves a part",
    file: blobs,
    from: `      await file.truncate(size);\n`,
    tests: [...conformance, "test/storage/failures.test.ts"],
  },
];
