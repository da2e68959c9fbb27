import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import type { OrchestratorError } from "../../lib/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let folder: string;
let journal: string;
/** What stood in the head file while the last record was being written. */
let headBefore: Buffer;

beforeEach(async () => {
  folder = temporaryFolder();
  journal = join(folder, "journal-00000001.jsonl");
  const storage = await openStorage({ folder });
  for (let n = 1; n <= 2; n++) await storage.commit(change("a", n));
  headBefore = readFileSync(join(folder, "head"));
  await storage.commit(change("a", 3));
  await storage.close();
});

/** Where each journal record begins, and where the last one ends. */
function recordPlaces(): number[] {
  const text = readFileSync(journal, "latin1");
  const places = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) places.push(at + 1);
  return places;
}

function damage(file: string, at: number): void {
  const content = readFileSync(file);
  content[at] = (content[at] ?? 0) ^ 0x01;
  writeFileSync(file, content);
}

async function refusal(): Promise<OrchestratorError> {
  return openStorage({ folder }).then(
    () => expect.fail("It was opened."),
    (error: OrchestratorError) => error,
  );
}

describe("a torn end", () => {
  beforeEach(() => writeFileSync(join(folder, "head"), headBefore));

  test.each([1, 10, 31, 60, 120])("of the last record, %i bytes kept, is cut off", async (kept) => {
    const last = recordPlaces().at(-2) ?? 0;
    const content = readFileSync(journal);
    content.fill(0, last + kept);
    writeFileSync(journal, content);
    const warnings: string[] = [];
    const logger: Logger = {
      debug() {},
      info() {},
      warn: (message) => void warnings.push(message),
      error() {},
    };
    const storage = await openStorage({ folder, logger });
    expect((await storage.get("agents", "a"))?.value["n"]).toBe(2);
    expect((await storage.readLog("audit")).head.sequence).toBe(2);
    expect(warnings).toEqual(["The torn end of the journal was cut off."]);
    await storage.commit(change("a", 30));
    await storage.close();
    const again = await openStorage({ folder });
    expect((await again.get("agents", "a"))?.value["n"]).toBe(30);
  });

  test("is gone: nothing of it stands behind a shorter record that comes in its place", async () => {
    let storage = await openStorage({ folder });
    const head = readFileSync(join(folder, "head"));
    const last = recordPlaces().at(-1) ?? 0;
    await storage.commit(change("a", 4, "torn".repeat(200)));
    await storage.close();
    const content = readFileSync(journal);
    content.fill(0, last + 700);
    writeFileSync(journal, content);
    writeFileSync(join(folder, "head"), head);
    storage = await openStorage({ folder });
    await storage.commit(change("a", 5));
    await storage.close();
    expect(readFileSync(journal, "latin1")).not.toContain("torn");
    const warnings: string[] = [];
    const logger: Logger = { debug() {}, info() {}, warn: (text) => void warnings.push(text), error() {} };
    expect((await (await openStorage({ folder, logger })).get("agents", "a"))?.value["n"]).toBe(5);
    expect(warnings).toEqual([]);
  });

  test("whose beginning was lost is cut off", async () => {
    const last = recordPlaces().at(-2) ?? 0;
    const content = readFileSync(journal);
    content.fill(0, last, last + 50);
    writeFileSync(journal, content);
    const storage = await openStorage({ folder });
    expect((await storage.get("agents", "a"))?.value["n"]).toBe(2);
  });

  test("of a file that ends there is cut off, and the log says how short it is", async () => {
    const bytes = (recordPlaces().at(-1) ?? 0) - 5;
    writeFileSync(journal, readFileSync(journal).subarray(0, bytes));
    const logger = new RecordingLogger();
    const storage = await openStorage({ folder, logger });
    expect((await storage.get("agents", "a"))?.value["n"]).toBe(2);
    const about = logger.lines.filter(({ message }) => message.includes("shorter than it is made"));
    expect(about.map(({ level, fields }) => [level, fields])).toEqual([["warn", { path: journal, bytes }]]);
  });
});

describe("damage elsewhere is refused with its place:", () => {
  test.each([1, 10, 31, 60, 120])("the last record, which was answered, %i bytes kept", async (kept) => {
    const last = recordPlaces().at(-2) ?? 0;
    const content = readFileSync(journal);
    content.fill(0, last + kept);
    writeFileSync(journal, content);
    const error = await refusal();
    expect(error.message).toContain("changes 3 to 3 were answered and are missing");
    expect(error.details).toEqual({ file: journal, offset: last });
    expect(readFileSync(journal).equals(content)).toBe(true);
  });

  test.each([0, 3, 12, 20, 40, 90])("byte %i of a record that others follow", async (byte) => {
    const second = recordPlaces()[1] ?? 0;
    damage(journal, second + byte);
    const error = await refusal();
    expect(error.code).toBe("STORAGE_CORRUPT");
    expect(error.details).toEqual({ file: journal, offset: second });
  });

  test("the line feed between two records", async () => {
    const places = recordPlaces();
    damage(journal, (places[2] ?? 0) - 1);
    expect((await refusal()).details).toEqual({ file: journal, offset: places[1] });
  });

  test("the snapshot", async () => {
    damage(join(folder, "db.json"), 5);
    expect(await refusal()).toMatchObject({
      code: "STORAGE_CORRUPT",
      details: { file: join(folder, "db.json"), offset: 0 },
    });
  });

  test("a snapshot that was cut short", async () => {
    const file = join(folder, "db.json");
    writeFileSync(file, readFileSync(file).subarray(0, -3));
    expect((await refusal()).code).toBe("STORAGE_CORRUPT");
  });

  test("and nothing is changed by the refusal", async () => {
    damage(journal, 40);
    const before = readFileSync(journal);
    await refusal();
    expect(readFileSync(journal).equals(before)).toBe(true);
    expect(existsSync(join(folder, "lock"))).toBe(false);
    damage(journal, 40);
    const storage = await openStorage({ folder });
    expect((await storage.get("agents", "a"))?.value["n"]).toBe(3);
  });
});

describe("with many segments", () => {
  const sizes = { segmentBytes: 4_096, minJournalBytes: 16_384, logSegmentBytes: 4_096 };

  beforeEach(async () => {
    const storage = await openStorage({ folder, ...sizes });
    for (let n = 1; n <= 150; n++) await storage.commit(change("a", n, "x".repeat(200)));
    await storage.close();
  });

  const segments = (): string[] =>
    readdirSync(folder)
      .filter((name) => name.startsWith("journal-"))
      .filter((name) => readFileSync(join(folder, name))[0] !== 0)
      .sort();

  /** Commits that no snapshot takes over. */
  async function commitMore(): Promise<void> {
    const storage = await openStorage({ folder, ...sizes, minJournalBytes: 1 << 20 });
    for (let n = 1; n <= 60; n++) await storage.commit(change("b", n, "x".repeat(200)));
    await storage.close();
  }

  test("a missing journal segment is refused", async () => {
    await commitMore();
    expect(segments().length).toBeGreaterThan(1);
    rmSync(join(folder, segments().at(-2) ?? ""));
    const error = await refusal();
    expect(error.code).toBe("STORAGE_CORRUPT");
    expect(error.message).toMatch(/journal record \d+ is missing/);
  });

  test("a torn record that is not in the last segment is refused", async () => {
    await commitMore();
    const file = join(folder, segments().at(-2) ?? "");
    const content = readFileSync(file);
    content.fill(0, content.lastIndexOf("\n") - 20);
    writeFileSync(file, content);
    expect((await refusal()).code).toBe("STORAGE_CORRUPT");
  });

  test("a damaged log entry is refused when it is read, with its place", async () => {
    const logFolder = join(folder, "logs", "audit");
    const first = join(logFolder, readdirSync(logFolder).sort()[0] ?? "");
    damage(first, 50);
    const storage = await openStorage({ folder, ...sizes });
    await expect(storage.readLog("audit")).rejects.toMatchObject({
      code: "STORAGE_CORRUPT",
      details: { file: first, offset: 0 },
    });
    expect((await storage.readLog("audit", { reverse: true, limit: 3 })).entries).toHaveLength(3);
  });

  test("a log segment that is cut between two entries while it is open is refused, however much is left", async () => {
    const storage = await openStorage({ folder, ...sizes });
    const logFolder = join(folder, "logs", "audit");
    const file = join(logFolder, readdirSync(logFolder).sort()[0] ?? "");
    const whole = readFileSync(file);
    const borders = [0];
    for (let at = whole.indexOf("\n"); at !== -1; at = whole.indexOf("\n", at + 1)) borders.push(at + 1);
    const { entries } = await storage.readLog("audit", { limit: 1_000 });
    for (const border of borders.slice(0, -1)) {
      writeFileSync(file, whole.subarray(0, border));
      await expect(storage.readLog("audit", { limit: 1_000 }), String(border)).rejects.toMatchObject({
        code: "STORAGE_CORRUPT",
      });
    }
    writeFileSync(file, whole);
    expect((await storage.readLog("audit", { limit: 1_000 })).entries).toEqual(entries);
  });

  test("a missing log segment is refused", async () => {
    const logFolder = join(folder, "logs", "audit");
    rmSync(join(logFolder, readdirSync(logFolder).sort()[0] ?? ""));
    expect((await refusal()).message).toMatch(/log entry 1 is missing/);
  });

  test("a snapshot that was lost with the journal before it is refused", async () => {
    renameSync(join(folder, "db.json"), join(folder, "elsewhere"));
    expect((await refusal()).code).toBe("STORAGE_CORRUPT");
  });
});
