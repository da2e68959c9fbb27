import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStorage } from "../../support/file-storages.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const lockOf = (folder: string): string => join(folder, "lock");

function writeLock(folder: string, holder: unknown): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(lockOf(folder), typeof holder === "string" ? holder : JSON.stringify(holder));
}

async function otherProcess(): Promise<ChildProcess & { pid: number }> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000); console.log('ready')"]);
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child as unknown as ChildProcess & { pid: number };
}

function holderOf(folder: string): unknown {
  return (JSON.parse(readFileSync(lockOf(folder), "utf8")) as { pid: unknown }).pid;
}

test("a folder in use is refused with the process that uses it, and free after close", async () => {
  const folder = temporaryFolder();
  const first = await openStorage({ folder });
  await expect(openStorage({ folder })).rejects.toMatchObject({
    code: "STORAGE_LOCKED",
    details: { pid: process.pid },
  });
  await first.close();
  expect(existsSync(lockOf(folder))).toBe(false);
  await openStorage({ folder });
});

test("the lock of another process that lives is respected", async () => {
  const folder = temporaryFolder();
  const child = await otherProcess();
  writeLock(folder, { pid: child.pid, started: "", token: "x" });
  await expect(openStorage({ folder })).rejects.toMatchObject({
    code: "STORAGE_LOCKED",
    message: `Process ${child.pid} uses the data folder.`,
    details: { pid: child.pid },
  });
  expect(readFileSync(lockOf(folder), "utf8")).toContain(`"pid":${child.pid}`);
});

test("the lock of a process that is gone is taken over", async () => {
  const folder = temporaryFolder();
  const child = await otherProcess();
  child.kill("SIGKILL");
  await once(child, "exit");
  writeLock(folder, { pid: child.pid, started: "1", token: "x" });
  await openStorage({ folder });
  expect(JSON.parse(readFileSync(lockOf(folder), "utf8"))).toMatchObject({ pid: process.pid });
});

test.runIf(existsSync("/proc/self/stat"))(
  "a process id that was given to another process holds no lock",
  async () => {
    const folder = temporaryFolder();
    const child = await otherProcess();
    writeLock(folder, { pid: child.pid, started: "1", token: "x" });
    await openStorage({ folder });
    expect(holderOf(folder)).toBe(process.pid);
  },
);

test("the lock of a predecessor with our own process id is taken over, as in a restarted container", async () => {
  const folder = temporaryFolder();
  writeLock(folder, { pid: process.pid, started: "1", token: "of the predecessor" });
  await openStorage({ folder });
  expect(readFileSync(lockOf(folder), "utf8")).not.toContain("of the predecessor");
});

test.each(["", "{", "null", '{"pid":-1}'])("a lock that can't be read (%j) is taken over", async (text) => {
  const folder = temporaryFolder();
  writeLock(folder, text);
  await openStorage({ folder });
  expect(holderOf(folder)).toBe(process.pid);
});

test("of many that find a stale lock exactly one gets the folder", async () => {
  const folder = temporaryFolder();
  writeLock(folder, { pid: process.pid, started: "1", token: "of the predecessor" });
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => openStorage({ folder })));
  const codes = outcomes.map((outcome) =>
    outcome.status === "fulfilled" ? "open" : (outcome.reason as { code: string }).code,
  );
  expect(codes.filter((code) => code === "open")).toHaveLength(1);
  expect(codes.filter((code) => code === "STORAGE_LOCKED")).toHaveLength(7);
});
