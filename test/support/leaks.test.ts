import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { leakedSince, liveResources } from "./leaks.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { unhandled } from "./unhandled.ts";
import { waitFor } from "./wait-for.ts";

describe("the leak guard", () => {
  it("finds a timer that still runs", async () => {
    const before = liveResources();
    const timer = setTimeout(() => {}, 60_000);
    expect(await leakedSince(before, 0)).toEqual(["1 x Timeout"]);
    clearTimeout(timer);
    expect(await leakedSince(before)).toEqual([]);
  });

  it("finds a server that still listens", async () => {
    const before = liveResources();
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    expect(await leakedSince(before, 0)).toEqual(["1 x TCPServerWrap"]);
    server.close();
    expect(await leakedSince(before)).toEqual([]);
  });

  it("finds a child process that still lives", async () => {
    const before = liveResources();
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
    expect(await leakedSince(before, 0)).toEqual(["1 x ProcessWrap"]);
    child.kill("SIGKILL");
    expect(await leakedSince(before)).toEqual([]);
  });

  it("finds a file and a folder that are still open, by their names, where the system shows them", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "note");
    writeFileSync(file, "hello");
    const before = liveResources();
    const handles = [await open(file, "r"), await open(folder, "r")];
    const expected = process.platform === "linux" ? [`1 x ${file}`, `1 x ${folder}`] : [];
    expect((await leakedSince(before, 0)).toSorted()).toEqual(expected.toSorted());
    for (const handle of handles) await handle.close();
    expect(await leakedSince(before)).toEqual([]);
  });

  it("hears of a file that the garbage collector had to close", async () => {
    const file = join(temporaryFolder(), "note");
    writeFileSync(file, "hello");
    await open(file, "r");
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    await waitFor(() => {
      collect();
      expect(unhandled.splice(0).join()).toMatch(
        /^Warning: Closing file descriptor \d+ on garbage collection$/,
      );
    });
  });

  it("does not mind what keeps nothing alive", async () => {
    const before = liveResources();
    const timer = setTimeout(() => {}, 60_000);
    timer.unref();
    expect(await leakedSince(before, 0)).toEqual([]);
    clearTimeout(timer);
  });
});

describe("a temporary folder", () => {
  let last = "";

  it("is empty, the test's own and writable", () => {
    last = temporaryFolder();
    writeFileSync(join(last, "note"), "hello");
    expect(temporaryFolder()).not.toBe(last);
    expect(existsSync(join(last, "note"))).toBe(true);
  });

  it("is gone after the test", () => {
    expect(last).not.toBe("");
    expect(existsSync(last)).toBe(false);
  });
});
