/**
 * Files of a data folder that are gone, zero, older, or twice there: what was answered is missed, by name, or nothing is
 * lost. Found with 300 uploads that were gone without a word, whose events still stood in the audit log.
 */
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { OrchestratorError } from "../../lib/errors.ts";
import type { FileStorage } from "../../lib/storage/file-storage.ts";
import { backupSigner } from "../support/backups.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { copyAsKilled } from "../support/live-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sizes = { segmentBytes: 64 * 1_024, minJournalBytes: 1 << 20, logSegmentBytes: 32_768 };
const count = 700;
let folder: string;
let older: string;

beforeEach(async () => {
  folder = join(temporaryFolder(), "data");
  older = join(temporaryFolder(), "data");
  const storage = await openStorage({ folder, ...sizes });
  for (let n = 1; n <= count; n++) {
    if (n === 600) copyAsKilled(folder, older);
    await storage.commit(change(`k${n % 50}`, n, "x".repeat(100)));
  }
  await storage.close();
});

const journals = (): string[] =>
  readdirSync(folder)
    .filter((name) => /^journal-\d+\.jsonl$/.test(name))
    .filter((name) => readFileSync(join(folder, name))[0] !== 0)
    .sort();

async function refusal(): Promise<OrchestratorError> {
  const before = fingerprint();
  const error = await openStorage({ folder, ...sizes }).then(
    () => expect.fail("It was opened."),
    (cause: OrchestratorError) => cause,
  );
  expect(error.code).toBe("STORAGE_CORRUPT");
  expect(fingerprint()).toBe(before);
  return error;
}

/** The files that hold something, all of their bytes. */
function fingerprint(): string {
  const names = readdirSync(folder).filter((name) => /^(journal|db|head)/.test(name));
  return names.map((name) => `${name} ${readFileSync(join(folder, name), "latin1")}`).join("\n");
}

const headOf = async (): Promise<number> => {
  const storage = await openStorage({ folder, ...sizes });
  const { head } = await storage.readLog("audit");
  await storage.close();
  return head.sequence;
};

describe("is refused and named:", () => {
  test("the newest journal, missing", async () => {
    const newest = journals().at(-1) ?? "";
    rmSync(join(folder, newest));
    const error = await refusal();
    expect(error.message).toMatch(/changes \d+ to 700 were answered and are missing/);
    expect(error.message).toContain(newest);
    expect(error.message).toContain(
      "Restore a backup, or go on without it (fleetwright serve --accept-loss)",
    );
  });

  test.each([0.2, 0.9])("the newest journal, zero from a record on, %d of the way", async (part) => {
    const newest = join(folder, journals().at(-1) ?? "");
    const content = readFileSync(newest);
    const used = content.indexOf(0);
    content.fill(0, content.lastIndexOf("\n", used * part) + 1);
    writeFileSync(newest, content);
    expect(await refusal()).toMatchObject({ details: { file: newest } });
  });

  test("the newest journal, all zero", async () => {
    const newest = join(folder, journals().at(-1) ?? "");
    writeFileSync(newest, Buffer.alloc(sizes.segmentBytes));
    expect((await refusal()).message).toContain(newest);
  });

  test("an older copy of the newest journal", async () => {
    const newest = journals().at(-1) ?? "";
    const copy = existsSync(join(older, newest)) ? newest : "journal-00000001.jsonl";
    copyFileSync(join(older, copy), join(folder, newest));
    expect((await refusal()).message).toMatch(/missing/);
  });

  test("all journals, missing", async () => {
    for (const name of journals()) rmSync(join(folder, name));
    expect((await refusal()).message).toContain("changes 1 to 700 were answered and are missing");
  });

  test("all journals and the head, by what the log still has", async () => {
    for (const name of [...journals(), "head"]) rmSync(join(folder, name));
    const error = await refusal();
    expect(error.message).toMatch(
      /log entries 1 to \d+ are there, and the changes that they tell of are missing/,
    );
    expect(error.message).toContain(join(folder, "logs", "audit"));
  });

  test("db.json, missing", async () => {
    rmSync(join(folder, "db.json"));
    expect(await refusal()).toMatchObject({ details: { file: join(folder, "db.json") } });
  });
});

describe("is harmless:", () => {
  test.each(["an older head", "no head", "a damaged head"])("%s", async (kind) => {
    const path = join(folder, "head");
    if (kind === "an older head") copyFileSync(join(older, "head"), path);
    if (kind === "no head") rmSync(path);
    if (kind === "a damaged head") writeFileSync(path, Buffer.alloc(1_024, 7));
    expect(await headOf()).toBe(count);
    // From then on it says all of it again.
    const newest = join(folder, journals().at(-1) ?? "");
    writeFileSync(newest, Buffer.alloc(sizes.segmentBytes));
    await refusal();
  });

  test("every bit of the head, flipped", async () => {
    const path = join(folder, "head");
    const content = readFileSync(path);
    for (let at = 0; at < content.length; at += 41) {
      const damaged = Buffer.from(content);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(path, damaged);
      expect(await headOf()).toBe(count);
    }
  });
});

async function accepted(): Promise<FileStorage> {
  return openStorage({ folder, ...sizes, acceptLoss: true });
}

describe("with the loss accepted", () => {
  test("the server goes on with what is there, says what is not, and keeps what it sets aside", async () => {
    const newest = join(folder, journals().at(-1) ?? "");
    rmSync(newest);
    const storage = await accepted();
    expect(storage.losses.list().map(({ file }) => file)).toContain(newest);
    const { head } = await storage.readLog("audit");
    expect(head.sequence).toBeLessThan(count);
    await storage.commit(change("new", 1));
    await storage.close();
    // Told by the next start, too, as long as nobody has heard of it, and nothing is refused any more.
    const again = await openStorage({ folder, ...sizes });
    expect(again.losses.list().map(({ file }) => file)).toContain(newest);
    expect((await again.readLog("audit")).head.sequence).toBe(head.sequence + 1);
    await again.losses.told();
    await again.close();
    const last = await openStorage({ folder, ...sizes });
    expect(last.losses.list()).toEqual([]);
  });

  test("what is behind a gap is set aside and can't come back", async () => {
    const names = journals();
    expect(names.length).toBeGreaterThan(2);
    rmSync(join(folder, names.at(-2) ?? ""));
    const storage = await accepted();
    await storage.commit(change("new", 1));
    await storage.close();
    expect(existsSync(join(folder, `${names.at(-1)}.lost`))).toBe(true);
    const again = await openStorage({ folder, ...sizes });
    expect((await again.get("agents", "new"))?.value["n"]).toBe(1);
  });

  test("a log whose end is damaged begins anew behind it, and can be backed up", async () => {
    // A snapshot vouches for the entries.
    const filled = await openStorage({ folder, ...sizes, minJournalBytes: 4_096 });
    for (let n = 1; n <= 50; n++) await filled.commit(change("more", n, "x".repeat(200)));
    await filled.close();
    const logs = join(folder, "logs", "audit");
    const last = join(logs, readdirSync(logs).sort().at(-1) ?? "");
    const content = readFileSync(last);
    content[20] = (content[20] ?? 0) ^ 1;
    writeFileSync(last, content);
    await refusal();
    const storage = await accepted();
    expect(readdirSync(logs).some((name) => name.endsWith(".lost"))).toBe(true);
    const { head } = await storage.readLog("audit");
    expect(head.sequence).toBe(count + 50);
    await storage.commit(change("new", 1));
    let bytes = 0;
    for await (const piece of storage.backup.archive(backupSigner)) bytes += piece.length;
    expect(bytes).toBeGreaterThan(1_000);
    await storage.close();
    expect(await headOf()).toBe(count + 51);
  });
});
