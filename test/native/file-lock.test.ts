/** A lock is free the moment its holder has ended, however it ended: found with a predecessor that nobody had reaped. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { StateLock } from "../../lib/agent/state-lock.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { silentLogger } from "../../lib/logger.ts";
import { takeFileLock, type FileLock } from "../../lib/native/file-lock.ts";
import { nodeDisk } from "../../lib/storage/file/disk.ts";
import { FolderLock } from "../../lib/storage/file/lock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const program = new URL("../support/holding-process.ts", import.meta.url).pathname;

/** A process that holds the locks of a folder, below a parent that never asks what became of it. */
async function holderIn(folder: string): Promise<{ pid: number }> {
  const command = `"$@" & exec sleep 600`;
  const tsx = ["--import", "tsx", program, folder];
  const parent = spawn("sh", ["-c", command, "sh", process.execPath, ...tsx], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(async () => {
    parent.kill("SIGKILL");
    await once(parent, "close");
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pid = Number(line.toString());
  onTestFinished(() => killIfThere(pid));
  return { pid };
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

const stateOf = (pid: number): string => {
  const line = readFileSync(`/proc/${pid}/stat`, "latin1");
  return line.charAt(line.lastIndexOf(")") + 2);
};

async function becomesZombie(pid: number): Promise<void> {
  await expect.poll(() => stateOf(pid), { timeout: 30_000, interval: 10 }).toBe("Z");
}

function isFree(take: (folder: string) => void, folder: string): boolean {
  try {
    take(folder);
    return true;
  } catch (error) {
    if (isOrchestratorError(error, "STORAGE_LOCKED")) return false;
    throw error;
  }
}

/** The locks of the product, each taken and given back. */
const kinds: [name: string, take: (folder: string) => void][] = [
  ["the data folder", (folder) => FolderLock.take(nodeDisk, folder, silentLogger).release()],
  ["the agent's state folder", (folder) => new StateLock(folder).release()],
];

describe.runIf(process.platform === "linux").each(kinds)("the lock of %s", (_name, take) => {
  test("is held by a living process, and free once it was killed although nobody reaps it", async () => {
    const folder = temporaryFolder();
    const { pid } = await holderIn(folder);
    expect(() => take(folder)).toThrow(
      expect.objectContaining({ code: "STORAGE_LOCKED", details: expect.objectContaining({ pid }) }),
    );
    process.kill(pid, "SIGKILL");
    await becomesZombie(pid);
    // Its first thread is a zombie a moment before its last one is, and that one's files are closed.
    await expect.poll(() => isFree(take, folder), { timeout: 30_000, interval: 5 }).toBe(true);
    expect(stateOf(pid)).toBe("Z");
  });

  test("of a version that left it to the file is free, too, when its process waits to be reaped", async () => {
    const folder = temporaryFolder();
    const { pid } = await holderIn(temporaryFolder());
    process.kill(pid, "SIGKILL");
    await becomesZombie(pid);
    writeFileSync(join(folder, "lock"), JSON.stringify({ pid, started: "", token: "x" }));
    writeFileSync(join(folder, "agent.lock"), JSON.stringify({ pid, began: null }));
    expect(isFree(take, folder)).toBe(true);
  });
});

const toText = (holder: object): string => JSON.stringify(holder);
function taken(path: string): FileLock | number | null {
  const outcome = takeFileLock({ path, toText });
  return "lock" in outcome ? outcome.lock : outcome.heldBy;
}
function held(path: string): FileLock {
  const lock = taken(path);
  if (lock === null || typeof lock === "number") throw new Error("It is held.");
  onTestFinished(() => lock.release());
  return lock;
}

describe.runIf(process.platform === "linux")("a lock of the kernel", () => {
  test("is not blocked by a file that names a living process, as one of another container may", () => {
    const path = join(temporaryFolder(), "lock");
    writeFileSync(path, JSON.stringify({ pid: process.ppid, began: "", kernel: true }));
    expect(held(path).isInPlace()).toBe(true);
    expect(taken(path)).toBe(process.pid);
  });

  test("knows when its file was removed, replaced or moved, and leaves that of another alone", () => {
    const folder = temporaryFolder();
    const path = join(folder, "lock");
    const first = held(path);
    rmSync(path);
    expect(first.isInPlace()).toBe(false);
    const second = held(path);
    first.release();
    expect(second.isInPlace()).toBe(true);
    expect(taken(path)).toBe(process.pid);
    renameSync(path, `${path}.moved`);
    expect(second.isInPlace()).toBe(false);
  });

  test("is one holder's of many that ask at once, again and again", () => {
    const path = join(temporaryFolder(), "lock");
    for (let round = 0; round < 100; round++) {
      const outcomes = Array.from({ length: 5 }, () => taken(path));
      const locks = outcomes.filter((each) => each !== null && typeof each !== "number");
      expect(locks).toHaveLength(1);
      for (const lock of locks) lock.release();
    }
  });
});
