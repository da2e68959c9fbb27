/**
 * kill -9 at the first, second, third ... call of each kind that writes, by strace, of a restore and of the first start after it: a folder
 * is refused or whole, and a server that starts on it is paused, in one new epoch, whatever was killed before.
 */
import { createReadStream, createWriteStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { expect, test } from "vitest";
import {
  systemCaller,
  systemClock,
  FileStorage,
  MemoryTransport,
  Orchestrator,
  restoreBackup,
} from "fleetwright";
import { originOf } from "../support/backups.ts";
import { isSoak } from "../support/soak.ts";
import { buildProgram, hasStrace, runUnderStrace } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const calls = ["pwrite64", "write", "fsync", "fdatasync", "rename", "unlink", "link", "mkdir"];
const atOnce = 2;
/** Nearly each `write` tells the main thread that a call has ended: of these moments every third will do, where it is no soak. */
const everyNth: Readonly<Record<string, number>> = isSoak ? {} : { write: 3 };
/** The lock, and what the lock and the mark of a restore are written to before they have their names. */
const drafts = /^lock|^restore-unfinished\./;

if (!hasStrace) console.log(`Skipped: kill at ${calls.length} kinds of calls, for lack of strace.`);

/** Builds the program, and takes a backup of a server of the epoch `before`. */
async function prepare(): Promise<{ program: string; file: string; before: number }> {
  const source = new URL("../support/restoring-process.ts", import.meta.url);
  const program = await buildProgram(source, temporaryFolder());
  const file = join(temporaryFolder(), "fleet.backup");
  await using orchestrator = await start(join(temporaryFolder(), "data"));
  await orchestrator.modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  const before = (await orchestrator.restores.get(systemCaller)).epoch!.number;
  await pipeline(Readable.from(await orchestrator.backups.create(systemCaller)), createWriteStream(file));
  return { program, file, before };
}

async function start(folder: string): Promise<Orchestrator> {
  const storage = new FileStorage({ folder, clock: systemClock });
  const orchestrator = new Orchestrator({ storage, transport: new MemoryTransport() });
  await orchestrator.start();
  return orchestrator;
}

/** Runs `kill` at each place of each call until it gets through, and tells how often it did not. */
async function atEach(
  kill: (options: string[], place: string) => Promise<boolean>,
): Promise<Record<string, number>> {
  const kills: Record<string, number> = {};
  for (const call of calls) {
    kills[call] = 0;
    const step = everyNth[call] ?? 1;
    for (let first = 1, isThrough = false; !isThrough; first += atOnce * step) {
      const places = Array.from({ length: atOnce }, (_, index) => first + index * step);
      const through = await Promise.all(
        places.map((place) =>
          kill(
            ["-o", "/dev/null", "-e", `trace=${call}`, "-e", `inject=${call}:signal=KILL:when=${place}`],
            `${call} ${place}`,
          ),
        ),
      );
      kills[call] += through.filter((isDone) => !isDone).length;
      isThrough = through.includes(true);
    }
  }
  return kills;
}

type Told = { number: number; id: string } | undefined;

/** What must hold whenever a server has started on what was restored. */
async function checkStart(
  folder: string,
  given: { place: string; before: number; told?: Told },
): Promise<void> {
  const { place, before, told } = given;
  const orchestrator = await start(folder).catch((cause: unknown) => {
    throw new Error(`Killed at ${place}: ${String(cause)}`, { cause });
  });
  try {
    const { epoch, status } = await orchestrator.restores.get(systemCaller);
    expect([status, epoch!.number > before], place).toEqual(["paused", true]);
    if (told) expect(epoch, place).toMatchObject(told);
    const events = await orchestrator.audit.list(systemCaller, { event_type: "storage.restored" });
    expect(events.items, place).toHaveLength(1);
    expect((await orchestrator.modules.list(systemCaller)).items, place).toHaveLength(1);
    expect(await orchestrator.audit.verify(systemCaller), place).toMatchObject({ valid: true });
  } finally {
    await orchestrator.stop();
  }
  expect((await readdir(folder)).includes("restored.json"), place).toBe(false);
}

test.skipIf(!hasStrace)(
  "a restore that is killed at any call leaves a folder that is refused, or whole and news to its first start",
  { timeout: 600_000 },
  async () => {
    const { program, file, before } = await prepare();
    const became = { refused: 0, untouched: 0, whole: 0 };
    const kills = await atEach(async (options, place) => {
      const folder = join(temporaryFolder(), "data");
      const { isDone } = await runUnderStrace(options, [program, "restore", folder, file]);
      const names = (await readdir(folder).catch(() => [])).filter((name) => !drafts.test(name));
      if (names.length === 0) {
        became.untouched += 1;
      } else if (names.includes("restore-unfinished")) {
        became.refused += 1;
        await expect(start(folder), place).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
      } else {
        became.whole += 1;
        await checkStart(folder, { place, before });
      }
      return isDone;
    });
    console.log(`Killed at calls: ${JSON.stringify(kills)}; folders: ${JSON.stringify(became)}`);
    expect([became.refused > 3, became.whole > 0]).toEqual([true, true]);
  },
);

test.skipIf(!hasStrace)(
  "a first start that is killed at any call is followed by one that is paused, in the epoch that was told",
  { timeout: 600_000 },
  async () => {
    const { program, file, before } = await prepare();
    const kills = await atEach(async (options, place) => {
      const folder = join(temporaryFolder(), "data");
      const archive = createReadStream(file) as AsyncIterable<Uint8Array>;
      await restoreBackup(archive, folder, await originOf(file));
      const { isDone, stdout } = await runUnderStrace(options, [program, "start", folder]);
      const told =
        stdout === "" ? undefined : (JSON.parse(stdout) as { epoch: { number: number; id: string } });
      await checkStart(folder, { place, before, told: told?.epoch });
      return isDone;
    });
    console.log(`Killed at calls: ${JSON.stringify(kills)}`);
    expect(kills["unlink"]).toBeGreaterThan(0);
    expect(kills["fsync"]).toBeGreaterThan(2);
  },
);
