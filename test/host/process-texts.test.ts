/** What is told of processes by what /proc says of them, and who belongs to whom. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  environmentOf,
  listProcesses,
  ownLine,
  processAt,
  type ProcessEntry,
  signalProcess,
  withDescendants,
} from "../../lib/host/process-table.ts";

const pid = 4_999_999;

/** Has /proc say this of files for the rest of a test; null: there is none, a list: one after the other, the last for good. */
function pretend(texts: Record<string, string | null | (string | null)[]>, names?: string[]): () => number {
  const { readFileSync, readdirSync } = fs;
  let looks = 0;
  const read = (path: fs.PathOrFileDescriptor, ...more: unknown[]): unknown => {
    const text = texts[String(path)];
    if (text === undefined) return (readFileSync as (...all: unknown[]) => unknown)(path, ...more);
    looks += 1;
    const now = Array.isArray(text) ? (text.length > 1 ? text.shift() : text[0]) : text;
    if (now === null || now === undefined) throw Object.assign(new Error("gone"), { code: "ENOENT" });
    return now;
  };
  const list = (path: fs.PathLike, ...more: unknown[]): unknown => {
    if (path !== "/proc" || names === undefined)
      return (readdirSync as (...all: unknown[]) => unknown)(path, ...more);
    if (names.length === 0) throw Object.assign(new Error("none"), { code: "ENOENT" });
    return names;
  };
  Object.assign(fs, { readFileSync: read, readdirSync: list });
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(fs, { readFileSync, readdirSync });
    syncBuiltinESMExports();
  });
  return () => looks;
}

interface Told {
  name?: string;
  state?: string;
  flags?: number;
  /** Where the program and its environment begin, and where that ends. */
  memory?: [code: number, from: number, to: number];
}

/** A line of proc_pid_stat(5). */
function stat({ name = "sh", state = "S", flags = 0x400000, memory = [1, 1000, 1200] }: Told = {}): string {
  const [code, from, to] = memory;
  const fields = Array.from({ length: 50 }, (_, at) => String(at + 3));
  [fields[0], fields[1], fields[3], fields[6], fields[19]] = [state, "77", "88", String(flags), "12345"];
  [fields[23], fields[47], fields[48]] = [String(code), String(from), String(to)];
  return `${pid} (${name}) ${fields.join(" ")}\n`;
}

describe("a process is told by its line", () => {
  const plain = {
    pid,
    parent: 77,
    session: 88,
    begun: 12_345,
    isZombie: false,
    isKernels: false,
    isEnding: false,
    environmentBytes: 200,
  };
  test.each<[what: string, told: Told, expected: Partial<ProcessEntry>]>([
    ["as it is", {}, {}],
    ["whatever its name has in it", { name: "a) Z 1 (b" }, {}],
    ["that has ended", { state: "Z" }, { isZombie: true }],
    ["that is about to be gone", { state: "X" }, { isZombie: true }],
    ["that is stopped", { state: "T" }, {}],
    ["of the kernel", { flags: 0x200000 | 0x40 }, { isKernels: true }],
    ["that is ending", { flags: 0x400000 | 0x4 }, { isEnding: true }],
    ["without an environment", { memory: [1, 1000, 1000] }, { environmentBytes: 0 }],
    ["that takes on another program", { memory: [0, 1000, 1000] }, { environmentBytes: null }],
    ["that has none of it yet", { memory: [1, 0, 0] }, { environmentBytes: null }],
  ])("%s", (_what, told, expected) => {
    pretend({ [`/proc/${pid}/stat`]: stat(told) });
    expect(processAt(pid)).toEqual({ ...plain, ...expected });
  });

  test("and is none where it has none", () => {
    pretend({ [`/proc/${pid}/stat`]: null });
    expect(processAt(pid)).toBeNull();
  });

  test("among all that have a number", () => {
    pretend({ [`/proc/${pid}/stat`]: stat(), "/proc/12/stat": null }, [
      "self",
      "12",
      `${pid}`,
      `${pid}x`,
      `x${pid}`,
    ]);
    expect(listProcesses()).toEqual([plain]);
  });

  test("and there are none where there is no /proc", () => {
    pretend({}, []);
    expect(listProcesses()).toEqual([]);
  });
});

describe("a variable of a process", () => {
  const environ = `/proc/${pid}/environ`;
  const line = `/proc/${pid}/stat`;

  test.each<[text: string, value: string | null]>([
    ["MARK=one\0OTHER=two\0", "one"],
    ["XMARK=no\0MARKX=no\0MARK=\0", ""],
    ["A=MARK=no\0", null],
    ["MARK=a=b\0MARK=second\0", "a=b"],
    ["MARK\0", null],
  ])("is read from %j", (text, value) => {
    pretend({ [environ]: text });
    expect(environmentOf(pid, "MARK")).toBe(value);
  });

  test.each<[what: string, told: string | null, value: string | null | undefined, looks: number]>([
    ["it is gone by then", null, null, 2],
    ["it has none", stat({ memory: [1, 5, 5] }), null, 2],
    ["it has ended", stat({ state: "Z", memory: [0, 0, 0] }), null, 2],
    ["it is the kernel's", stat({ flags: 0x200000, memory: [0, 0, 0] }), null, 2],
    ["it is ending", stat({ flags: 0x4, memory: [0, 0, 0] }), null, 2],
    ["it takes on another program for long", stat({ memory: [0, 0, 0] }), undefined, 40],
    ["its environment is there and reads as empty for long", stat(), undefined, 40],
  ])("that reads as empty is not there, or can't be told: %s", (_what, told, value, looks) => {
    const looked = pretend({ [environ]: "", [line]: told });
    expect([environmentOf(pid, "MARK"), looked()]).toEqual([value, looks]);
  });

  test("is looked for again where the next program has its place in memory by then", () => {
    const looked = pretend({ [environ]: ["", "", "MARK=ours\0"], [line]: stat({ memory: [0, 0, 0] }) });
    expect([environmentOf(pid, "MARK"), looked()]).toEqual(["ours", 5]);
  });

  test("is not there where it may not be read", () => {
    pretend({ [environ]: null });
    expect(environmentOf(pid, "MARK")).toBeNull();
  });
});

test("a signal is for the process that was meant, and nobody's who has its number", () => {
  const { kill } = process;
  const sent: unknown[] = [];
  let refusal: string | null = null;
  process.kill = (to, signal) => {
    if (refusal !== null) throw Object.assign(new Error("kill"), { code: refusal });
    sent.push([to, signal]);
    return true;
  };
  onTestFinished(() => void (process.kill = kill));
  pretend({ [`/proc/${pid}/stat`]: stat() });
  const entry = processAt(pid)!;
  signalProcess(entry, "SIGTERM");
  signalProcess({ ...entry, begun: entry.begun + 1 }, "SIGKILL");
  expect(sent).toEqual([[pid, "SIGTERM"]]);
  for (refusal of ["ESRCH", "EPERM"]) expect(() => signalProcess(entry, "SIGTERM")).not.toThrow();
  refusal = "EINVAL";
  expect(() => signalProcess(entry, "SIGTERM")).toThrow("kill");
});

const one = (number: number, parent: number, session = 0): ProcessEntry => ({
  pid: number,
  parent,
  session,
  begun: 1,
  isZombie: false,
  isKernels: false,
  isEnding: false,
  environmentBytes: 1,
});
const own = one(process.pid, 1002, 900);

test.each<[what: string, all: ProcessEntry[], line: number[]]>([
  ["with all above it", [one(1, 0), one(1001, 1), one(1002, 1001), own], [process.pid, 1002, 1001, 1]],
  ["as far as they can be seen", [one(1002, 1001), own], [process.pid, 1002, 1001]],
  ["alone, where it can't be seen itself", [], [process.pid]],
  ["once each, where one is its own ancestor", [one(1002, process.pid), own], [process.pid, 1002]],
])("our own line is this process %s", (_what, all, line) => {
  expect([...ownLine(all)]).toEqual(line);
});

test.each<[what: string, some: number[], others: ProcessEntry[], found: number[]]>([
  ["children", [10], [one(10, 1), one(11, 10), one(12, 10), one(13, 1)], [10, 11, 12]],
  ["theirs, in whichever order they stand", [10], [one(12, 11), one(11, 10), one(10, 1)], [10, 11, 12]],
  ["who shares a session", [10], [one(10, 1, 10), one(11, 1, 10), one(12, 1, 12)], [10, 11]],
  ["theirs", [10], [one(12, 11), one(11, 1, 10), one(10, 1, 10)], [10, 11, 12]],
  ["nobody by the session of the kernel", [10], [one(10, 1, 0), one(11, 1, 0)], [10]],
  ["nobody by our own session", [10], [one(10, 1, 900), one(11, 1, 900), one(12, 10, 900)], [10, 12]],
  ["nobody of our own line", [10, 1002], [one(10, 1, 7), one(1001, 1, 7), one(1002, 1001, 7)], [10]],
  ["nobody twice", [10, 11, 10], [one(10, 1), one(11, 10)], [10, 11]],
  ["nobody of nobody", [], [one(10, 1), one(11, 10)], []],
])("what processes have started is found: %s", (_what, some, others, found) => {
  const all = [...others, own];
  const begun = some.map((number) => all.find((each) => each.pid === number)!);
  expect(
    withDescendants(begun, all)
      .map((each) => each.pid)
      .toSorted((a, b) => a - b),
  ).toEqual(found);
});
