/** Whose a lock is by what its file says, of whatever version, and what is told and written by who takes it. */
import { spawn } from "node:child_process";
import { copyFileSync, chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { takeFileLock } from "../../lib/native/file-lock.ts";
import { beginOf } from "../../lib/native/lock-holder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const gone = 2 ** 22 + 1;

/** Asks for a lock: who has it, or what its file says from then on, and what was told of a predecessor. */
function ask(path: string): { heldBy: number | null } | { text: string; takenOver: unknown[] } {
  const takenOver: unknown[] = [];
  const outcome = takeFileLock({
    path,
    toText: (holder) => JSON.stringify(holder),
    onTakenOver: (pid) => takenOver.push(pid),
  });
  if ("heldBy" in outcome) return outcome;
  const text = readFileSync(path, "utf8");
  outcome.lock.release();
  return { text, takenOver };
}

/** A process that sleeps, under a name. */
async function sleeper(name: string): Promise<number> {
  const program = join(temporaryFolder(), name);
  copyFileSync("/bin/sleep", program);
  chmodSync(program, 0o755);
  const child = spawn(program, ["600"], { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  await expect
    .poll(() => readFileSync(`/proc/${child.pid}/stat`, "latin1"))
    .toContain(`(${name.slice(0, 15)})`);
  return child.pid!;
}

const own = (): string =>
  JSON.stringify({ pid: process.pid, ...beginOf(process.pid)!, token: "", kernel: true });

describe.runIf(process.platform === "linux")("a lock", () => {
  test.each<[string, string | null, unknown[]]>([
    ["nobody has had", null, []],
    ["one who could write nothing has left", "", []],
    ["a process has left that is gone", JSON.stringify({ pid: gone, began: "", token: "x" }), [gone]],
    ["says nothing that can be read", "x".repeat(3_000), [undefined]],
    ["says more than its next holder will", JSON.stringify({ pid: gone, note: "x".repeat(3_000) }), [gone]],
    ["names no process", JSON.stringify({ pid: 0 }), [undefined]],
    ["names all processes", JSON.stringify({ pid: -1 }), [undefined]],
    ["names half a process", JSON.stringify({ pid: 1.5 }), [undefined]],
    ["names one as a text", JSON.stringify({ pid: String(process.ppid) }), [undefined]],
    ["is null", "null", [undefined]],
  ])("that %s is taken, told of, and says who has it and nothing else", (_, left, takenOver) => {
    const path = join(temporaryFolder(), "lock");
    if (left !== null) writeFileSync(path, left);
    expect(ask(path)).toEqual({ text: own(), takenOver });
    // It was given back, and the next one takes it over from nobody.
    expect(ask(path)).toEqual({ text: own(), takenOver: [] });
  });

  test.each(["plain", "a) Z 1 (b", ") X", "a b) Z"])(
    "of a process called %j is its own while it lives, whichever version wrote when it began",
    async (name) => {
      const pid = await sleeper(name);
      const { began, ticks } = beginOf(pid)!;
      expect(began.endsWith(`/${ticks}`)).toBe(true);
      const path = join(temporaryFolder(), "lock");
      for (const words of [{ began }, { began: ticks }, { started: ticks }, { began: "" }, {}]) {
        writeFileSync(path, JSON.stringify({ pid, ...words }));
        expect(ask(path), JSON.stringify(words)).toEqual({ heldBy: pid });
      }
      // Another process has had this number.
      for (const other of [`${began}1`, `${ticks}1`, `another-boot/${ticks}`]) {
        for (const word of ["began", "started"]) {
          writeFileSync(path, JSON.stringify({ pid, [word]: other }));
          expect(ask(path), other).toEqual({ text: own(), takenOver: [pid] });
        }
      }
    },
  );
});
