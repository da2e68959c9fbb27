/**
 * kill -9 at the first, second, third ... call of each kind that writes, by strace, until the program gets through. Skipped
 * where there is no strace. In the usual run not every write of the frequent ones; in a soak each.
 */
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStorage } from "../support/file-storages.ts";
import { isSoak } from "../support/soak.ts";
import { buildProgram, hasStrace, runUnderStrace } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const calls = ["pwrite64", "write", "fsync", "fdatasync", "rename", "ftruncate", "unlink", "link", "mkdir"];
/** Most of the many calls of `write` are the program's own words. */
const stepOf = (call: string): number => (call === "write" && !isSoak ? 9 : 1);
const atOnce = 2;

if (!hasStrace) console.log(`Skipped: kill at ${calls.length} kinds of calls, for lack of strace.`);

test.skipIf(!hasStrace)(
  "a process that is killed at any call has lost nothing it acknowledged",
  { timeout: 600_000 },
  async () => {
    const program = await buildProgram(
      new URL("../support/numbered-commits.ts", import.meta.url),
      temporaryFolder(),
    );
    const kills: Record<string, number> = {};
    for (const call of calls) {
      kills[call] = 0;
      for (let first = 1, isThrough = false; !isThrough; first += atOnce * stepOf(call)) {
        const places = Array.from({ length: atOnce }, (_, index) => first + index * stepOf(call));
        const survived = await Promise.all(places.map((place) => killAt(program, call, place)));
        kills[call] += survived.filter((isDone) => !isDone).length;
        isThrough = survived.includes(true);
      }
    }
    console.log(`Killed at calls: ${JSON.stringify(kills)}`);
    expect(kills["pwrite64"]).toBeGreaterThanOrEqual(4);
    expect(kills["fsync"]).toBeGreaterThanOrEqual(4);
    expect(kills["rename"]).toBeGreaterThan(0);
  },
);

/** Kills the program at a call and checks what it left. Gives whether it got through before. */
async function killAt(program: string, call: string, place: number): Promise<boolean> {
  const folder = join(temporaryFolder(), "data");
  const options = [
    "-o",
    "/dev/null",
    "-e",
    `trace=${call}`,
    "-e",
    `inject=${call}:signal=KILL:when=${place}`,
  ];
  const { stdout, stderr, isDone } = await runUnderStrace(options, [program, folder]);
  expect(stderr).toBe("");
  const acknowledged = (kind: string): number =>
    Number(
      stdout
        .trim()
        .split("\n")
        .findLast((line) => line.startsWith(kind))
        ?.split(" ")[1] ?? 0,
    );
  await checkFolder(folder, {
    commit: acknowledged("commit"),
    blob: acknowledged("blob"),
    trim: acknowledged("trim"),
  }).catch((cause: unknown) => {
    throw new Error(
      `Killed at call ${place} of ${call}, after: ${stdout.trim().split("\n").join(", ")}. ${String(cause)}`,
      { cause },
    );
  });
  return isDone;
}

async function checkFolder(
  folder: string,
  { commit, blob, trim }: Record<"commit" | "blob" | "trim", number>,
): Promise<void> {
  const storage = await openStorage({ folder });
  const { entries, base, head } = await storage.readLog("audit", { limit: 1_000 });
  expect(head.sequence).toBeGreaterThanOrEqual(commit);
  expect(head.sequence).toBeLessThanOrEqual(commit + 1);
  expect(base.sequence).toBeGreaterThanOrEqual(trim);
  expect(entries.map(({ value }) => value["n"])).toEqual(
    Array.from({ length: head.sequence - base.sequence }, (_, index) => base.sequence + 1 + index),
  );
  const { items } = await storage.list<{ n: number }>("agents");
  const newest = [head.sequence - 2, head.sequence - 1, head.sequence].filter((n) => n > 0);
  expect(items.map(({ value }) => value.n).sort((a, b) => a - b)).toEqual(newest);
  const text = Buffer.from((await storage.readBlob("blob")) ?? []).toString();
  const promised = [4, 8, 12]
    .filter((n) => n <= blob)
    .map((n) => `[${n}]`)
    .join("");
  expect("[4][8][12]".startsWith(text) && text.startsWith(promised)).toBe(true);
  await storage.close();
}
