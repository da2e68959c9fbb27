/** The data folder goes away under a running storage: nothing is answered from then on. Found with changes answered 200. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { change, openStorage } from "../support/file-storages.ts";
import { OwnTime } from "../support/own-time.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { waitFor } from "../support/wait-for.ts";

const failed = { code: "STORAGE_FAILED", message: expect.stringContaining("removed, replaced or unmounted") };

const journalFile = "journal-00000001.jsonl";
const faults: [name: string, run: (folder: string) => void, isSeenByCommit: boolean][] = [
  ["is removed", (folder) => rmSync(folder, { recursive: true }), true],
  ["is renamed", (folder) => renameSync(folder, `${folder}.old`), true],
  [
    "is replaced by an empty one",
    (folder) => {
      renameSync(folder, `${folder}.old`);
      mkdirSync(folder);
    },
    true,
  ],
  ["loses its journal", (folder) => rmSync(join(folder, journalFile)), true],
  [
    "gets another journal",
    (folder) => {
      rmSync(join(folder, journalFile));
      writeFileSync(join(folder, journalFile), "");
    },
    true,
  ],
  ["loses its lock", (folder) => rmSync(join(folder, "lock")), false],
  [
    "gets another lock",
    (folder) => {
      rmSync(join(folder, "lock"));
      writeFileSync(join(folder, "lock"), "");
    },
    false,
  ],
];

describe.each(faults)("a folder that %s", (_name, run, isSeenByCommit) => {
  test.runIf(isSeenByCommit)("answers no commit any more, from the first on", async () => {
    const folder = join(temporaryFolder(), "data");
    const storage = await openStorage({ folder });
    await storage.commit(change("a", 1));
    run(folder);
    await expect(storage.commit(change("a", 2))).rejects.toMatchObject(failed);
    await expect(storage.commit(change("a", 3))).rejects.toMatchObject(failed);
    // What is in memory can be read.
    expect((await storage.get("agents", "a"))?.value["n"]).toBe(1);
  });

  test("is noticed within a second without a commit, and nothing is written", async () => {
    const folder = join(temporaryFolder(), "data");
    const logger = new RecordingLogger();
    const storage = await openStorage({ folder, logger });
    await storage.commit(change("a", 1));
    run(folder);
    // Before anybody asks for anything.
    using time = new OwnTime();
    await waitFor(() => expect(logger.of("error").join()).toMatch(/is not the one that was opened/));
    expect(time.ms).toBeLessThan(1_000);
    for (const work of [
      () => storage.check(),
      () => storage.commit(change("a", 2)),
      () => storage.appendBlob("b", Buffer.from("x")),
      () => storage.commit([{ kind: "dropBlob", id: "b" }]),
    ])
      await expect(work()).rejects.toMatchObject(failed);
  });
});
