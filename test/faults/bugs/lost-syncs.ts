/** Every sync of the storage and of the agent's files, left out, one at a time: each must make a test fail. */
import { powerLoss, journal, snapshot, logFile, blobs, type Bug } from "./bugs.ts";

const failedSync = ["test/faults/failed-sync.test.ts"];
const seriesPowerLoss = ["test/storage/file/series/power-loss.test.ts"];
const systemCalls = ["test/faults/synced-calls.test.ts"];
const journalSegment = "lib/storage/file/journal-segment.ts";
const folder = "lib/storage/file/folder.ts";
const disk = "lib/storage/file/disk.ts";
const blobWriter = "lib/storage/file/blob-file-writer.ts";
const headJournal = "lib/storage/file/series/head-journal.ts";
const chunkFiles = "lib/storage/file/series/chunk-files.ts";
const seriesWriter = "lib/storage/file/series/series-writer.ts";
const durableFile = "lib/agent/durable-file.ts";

/** Every sync of the storage and of the agent's files, left out. */
export const lostSyncs: readonly Bug[] = [
  {
    name: "the segment that a start goes on with is not opened for synced writes",
    file: journalSegment,
    from: `FoundSegment & { end: number },
): Promise<Segment> {
  const file = await disk.open(path, "durable");`,
    to: `FoundSegment & { end: number },
): Promise<Segment> {
  const file = await disk.open(path, "write");`,
    tests: powerLoss,
  },
  {
    name: "a new segment is not opened for synced writes",
    file: journalSegment,
    from: `journalNameOf(number));
  const file = await disk.open(path, "durable");`,
    to: `journalNameOf(number));
  const file = await disk.open(path, "write");`,
    tests: powerLoss,
  },
  {
    name: "what a killed process took back in the journal is not synced",
    file: journalSegment,
    from: `    await file.sync();\n`,
    tests: failedSync,
  },
  {
    name: "the last record that a killed process left is not written again",
    file: journal,
    from: `last !== undefined && last.last < last.end`,
    to: `last === null`,
    tests: failedSync,
  },
  {
    name: "a write that was taken back is not synced",
    file: journal,
    from: `      await file.sync();\n      if (isOrchestratorError`,
    to: `      if (isOrchestratorError`,
    tests: ["test/faults/taken-back.test.ts"],
  },
  {
    name: "the name of a new journal segment is not synced",
    file: journalSegment,
    from: `    await disk.syncFolder(folder);\n`,
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
    from: `        await file.sync();\n      } finally {`,
    to: `      } finally {`,
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
    from: `await writeAgain(file, from, await file.size());`,
    to: `await file.size();`,
    tests: failedSync,
  },
  {
    name: "a change of a blob is not marked",
    file: blobs,
    from: `    await (await this.#disk.open(mark, "replace")).close();\n`,
    tests: powerLoss,
  },
  {
    name: "what the writer of a blob has to sync is not synced",
    file: blobWriter,
    from: `      await this.#file.sync();\n`,
    tests: powerLoss,
  },
  {
    name: "what the writer of a blob took back is not synced",
    file: blobWriter,
    from: `          this.#wasCut = true;\n`,
    tests: powerLoss,
  },
  {
    name: "what a sync found no space for is not written again",
    file: blobWriter,
    from: `        if (this.#isDoubted) await writeAgain(this.#file, this.#synced, size);\n`,
    to: ``,
    tests: ["test/storage/file/blob-file-writer.test.ts"],
  },
  {
    name: "a blob has no mark while its writer is open",
    file: blobWriter,
    from: `await disk.open(ends.mark, "note")`,
    to: `await disk.open(ends.mark + ".not", "note")`,
    tests: failedSync,
  },
  {
    name: "the mark of a blob tells what is not synced",
    file: blobWriter,
    from: `      this.#size += bytes.length;`,
    to: `      this.#size += bytes.length;\n      await writeMark(this.#mark, this.#size);`,
    tests: failedSync,
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
    name: "how far the journal goes is never synced",
    file: "lib/storage/file/head-file.ts",
    from: `      await this.#file.sync();\n    } catch`,
    to: `    } catch`,
    tests: ["test/storage/file/head-file.test.ts"],
  },
  {
    name: "the new file that says how far the journal goes is not synced",
    file: "lib/storage/file/head-file.ts",
    from: `      await file.sync();\n      await disk`,
    to: `      await disk`,
    tests: ["test/storage/file/head-file.test.ts"],
  },
  {
    name: "the name of the file that says how far the journal goes is not synced",
    file: "lib/storage/file/head-file.ts",
    from: `      await disk.syncFolder(folder);\n`,
    tests: ["test/storage/file/head-file.test.ts"],
  },
  {
    name: "the name of what stands for a lost blob is not synced",
    file: blobs,
    from: `lostSuffix), "write")).close();\n    await this.#disk.syncFolder(this.#folder);`,
    to: `lostSuffix), "write")).close();`,
    tests: ["test/storage/file/set-aside.test.ts"],
  },
  {
    name: "what is set aside is not synced",
    file: "lib/storage/file/set-aside.ts",
    from: `      await file.sync();\n`,
    tests: ["test/storage/file/set-aside.test.ts"],
  },
  {
    name: "the name of what is set aside is not synced",
    file: "lib/storage/file/set-aside.ts",
    from: `  await disk.syncFolder(dirname(path));\n`,
    tests: ["test/storage/file/set-aside.test.ts"],
  },
  {
    name: "what was accepted as lost is not synced",
    file: "lib/storage/file/loss-record.ts",
    from: `      await file.sync();\n`,
    tests: ["test/storage/file/set-aside.test.ts"],
  },
  {
    name: "the name of what was accepted as lost is not synced",
    file: "lib/storage/file/loss-record.ts",
    from: `    await this.#disk.syncFolder(dirname(this.#path));\n`,
    tests: ["test/storage/file/set-aside.test.ts"],
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
    tests: ["test/storage/file/series/chunk-files.test.ts"],
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
    from: `      fsyncSync(file);\n    } finally {\n      letGo(file);\n    }\n    renameSync`,
    to: `    } finally {\n      letGo(file);\n    }\n    renameSync`,
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
