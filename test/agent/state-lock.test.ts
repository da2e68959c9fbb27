import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { StateLock } from "../../lib/agent/state-lock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const held = expect.objectContaining({ code: "STORAGE_LOCKED" });

describe("StateLock", () => {
  it("keeps a second holder out until it is released", () => {
    const folder = temporaryFolder();
    const lock = new StateLock(folder);
    expect(() => new StateLock(folder)).toThrow(held);
    lock.release();
    new StateLock(folder).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  const stale: [name: string, text: string][] = [
    ["a process that is gone", JSON.stringify({ pid: 4_194_304, began: null })],
    [
      "an earlier process with the same number",
      JSON.stringify({ pid: process.ppid, began: "another boot/1" }),
    ],
    ["a process that was killed while it wrote", '{"pid":'],
  ];
  it.each(stale)("takes over from %s", (_name, text) => {
    const folder = temporaryFolder();
    const path = join(folder, "agent.lock");
    writeFileSync(path, text);
    const lock = new StateLock(folder);
    expect(readFileSync(path, "utf8")).toContain(String(process.pid));
    lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("respects a living process", () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "agent.lock"), JSON.stringify({ pid: process.ppid, began: null }));
    expect(() => new StateLock(folder)).toThrow(held);
  });
});
