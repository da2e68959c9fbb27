/** What is typed waits for as long as its program does not read. A pipe that does not block stands for the terminal. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { PtyInput } from "../../../lib/agent/terminal/pty-input.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Much more than a pipe takes at once. */
const more = Buffer.alloc(512 * 1024, "x");

let clock: FakeClock;
let input: PtyInput;
let reader: number;

beforeEach(() => {
  const path = join(temporaryFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  clock = new FakeClock();
  input = new PtyInput(writer, clock);
  onTestFinished(() => {
    input.end();
    for (const fd of [reader, writer]) closeSync(fd);
  });
});

/** Reads all that is there; its size. */
function drain(): number {
  const buffer = Buffer.alloc(64 * 1024);
  let total = 0;
  for (;;) {
    try {
      const size = readSync(reader, buffer);
      if (size === 0) return total;
      total += size;
    } catch {
      return total;
    }
  }
}

/** How long after now the next try takes something, milliseconds: up to 1000. */
async function nextTry(): Promise<number> {
  const before = input.size;
  for (let waited = 1; waited <= 1000; waited += 1) {
    await clock.advance(1);
    if (input.size < before) return waited;
  }
  throw new Error("Nothing was tried.");
}

test("is tried again after 2 ms, less and less often up to 50 ms, and after 2 ms again once something was taken", async () => {
  let isDone = false;
  const written = input.write(more).then(() => (isDone = true));
  for (let round = 0; round < 2; round += 1) {
    expect(input.size).toBeGreaterThan(0);
    drain();
    expect(await nextTry()).toBe(2);
    // Full again: the tries are 2, 4, 8, 16, 32, 50, 50 milliseconds apart.
    await clock.advance(2 + 4 + 8 + 16 + 32 + 50 + 1);
    drain();
    expect(await nextTry()).toBe(49);
  }
  while (input.size > 0) {
    drain();
    if (input.size > 0) await nextTry();
  }
  await written;
  expect([isDone, input.size, clock.pendingTimers]).toEqual([true, 0, 0]);
});

test("is written in order, and none of it before what waits", async () => {
  const order: string[] = [];
  const first = input.write(more).then(() => order.push("first"));
  const second = input.write(Buffer.from("second")).then(() => order.push("second"));
  let read = 0;
  while (input.size > 0) {
    read += drain();
    await clock.advance(2);
  }
  await Promise.all([first, second]);
  expect([order, read + drain()]).toEqual([["first", "second"], more.length + 6]);
});

test("is dropped when nobody can type any more, and its writers go on", async () => {
  const written = input.write(more);
  input.end();
  await written;
  await input.write(Buffer.from("late"));
  expect([input.size, clock.pendingTimers]).toEqual([0, 0]);
});
