/**
 * The power loss test believes that the real disk does what it promises; here strace shows that it does: which file was
 * synced, and which folder after it. The same for the agent's files. Linux with strace; skipped elsewhere.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildProgram, hasStrace, runUnderStrace } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const traced = "openat,write,pwrite64,fsync,fdatasync,rename,mkdir,ftruncate";

/** That of "content". */
const sha256 = createHash("sha256").update("content").digest("hex");

/** Step -> calls that it must make, in this order; others may come between. `~` stands for the folder. */
const expected: Record<string, readonly string[]> = {
  "disk folder": ["mkdir ~/a/b", "fsync ~/a", "fsync ~"],
  "disk durable": ["openat O_DSYNC ~/durable", "pwrite64 ~/durable"],
  "disk sync": ["fsync ~/plain"],
  "disk names": ["fsync ~"],
  "agent folder": ["mkdir ~/c/d", "fsync ~/c", "fsync ~"],
  "agent create": ["write ~/c/created.new", "fsync ~/c/created.new", "rename ~/c/created.new", "fsync ~/c"],
  "agent replace": [
    "write ~/c/replaced.new",
    "fsync ~/c/replaced.new",
    "rename ~/c/replaced.new",
    "fsync ~/c",
  ],
  "agent append": ["write ~/c/created", "fsync ~/c/created"],
  // What takes the place of a file is synced there, and its name after it, before a barrier is reached.
  "host write": ["fsync ~/machine/written", "fsync ~/machine"],
  "host attributes": ["fsync ~/machine/written"],
  "host download": ["fsync ~/machine/got", "fsync ~/machine"],
  "host copy": [`fsync ~/state/backups/${sha256}`, "fsync ~/state/backups"],
  "host restore": ["fsync ~/machine/back", "fsync ~/machine"],
  "host link": ["fsync ~/machine"],
  "host owner of a link": ["fsync ~/machine"],
  "host folder": ["fsync ~/machine"],
  "host removal": ["fsync ~/machine/sub"],
  "host removal of a folder": ["fsync ~/machine"],
  // It finds a folder whose names a killed process may have left unsynced.
  start: ["fsync ~/data/logs", "fsync ~/data/blobs"],
};

/** The same where any order will do: all of it is on disk when the barrier is reached. */
const expectedInAnyOrder: Record<string, readonly string[]> = {
  // What was filled elsewhere, as an archive is, has not been synced before.
  "host move": ["fsync ~/machine/moved", "fsync ~/machine"],
  "host move elsewhere": ["fsync ~/machine/sub/moved", "fsync ~/machine/sub", "fsync ~/machine"],
  "host mode of a folder": ["fsync ~/machine/sub", "fsync ~/machine"],
};

if (!hasStrace) console.log(`Skipped: ${Object.keys(expected).length} ways to sync, for lack of strace.`);

test.skipIf(!hasStrace)(
  "what counts as durable was synced, and in the right order",
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    const program = await buildProgram(
      new URL("../support/synced-calls.ts", import.meta.url),
      temporaryFolder(),
    );
    const output = join(temporaryFolder(), "calls");
    const run = await runUnderStrace(["-y", "-o", output, "-e", `trace=${traced}`], [program, folder]);
    expect(run.stderr).toBe("");
    const calls = callsOf(readFileSync(output, "utf8").replaceAll(folder, "~"));
    const callsDuring = (step: string): string[] => {
      const begin = calls.indexOf(`begin ${step}`);
      const end = calls.indexOf(`end ${step}`);
      expect(end, step).toBeGreaterThan(begin);
      return calls.slice(begin, end);
    };
    for (const [step, wanted] of Object.entries(expected))
      expect(inOrder(callsDuring(step), wanted), step).toEqual(wanted);
    for (const [step, wanted] of Object.entries(expectedInAnyOrder))
      expect(callsDuring(step), step).toEqual(expect.arrayContaining([...wanted]));
  },
);

/** The calls as "name path", and the marks of the program. */
function callsOf(text: string): string[] {
  return text.split("\n").flatMap((line) => {
    const mark = /write\(1<.*?>, "((?:begin|end) [a-z ]+)\\n"/.exec(line)?.[1];
    if (mark !== undefined) return [mark];
    const [, name, rest = ""] = /^\d+ +(\w+)\((.*)/.exec(line) ?? [];
    const path = /[<"](~[^>"]*)[>"]/.exec(rest)?.[1];
    if (name === undefined || path === undefined) return [];
    return [`${name}${rest.includes("O_DSYNC") ? " O_DSYNC" : ""} ${path}`];
  });
}

/** Those of the wanted calls that are there one after the other. */
function inOrder(calls: readonly string[], wanted: readonly string[]): string[] {
  const found: string[] = [];
  for (const call of calls) if (call === wanted[found.length]) found.push(call);
  return found;
}
