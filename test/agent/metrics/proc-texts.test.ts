/** What is read of the texts of /proc, and what is left out of them. */
import { describe, expect, test } from "vitest";
import {
  parseCpu,
  parseDisks,
  parseInterfaces,
  parseLoad,
  parseMemory,
  parseMounts,
  parseUptime,
} from "../../../lib/agent/metrics/proc-texts.ts";

describe("/proc/stat", () => {
  const all = { user: 1, nice: 2, system: 3, idle: 4, iowait: 5, irq: 6, softirq: 7, steal: 8 };
  const old = { ...all, iowait: 0, irq: 0, softirq: 0, steal: 0 };
  test.each([
    ["cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 9 9 9 9\n", all],
    ["cpu0 9 9 9 9\ncpu 1 2 3 4 5 6 7 8\n", all],
    ["cpu   1  2   3 4 5 6 7 8 x\n", all],
    ["cpu  1 2 3 4\n", old],
    ["cpu  1 2 3\n", null],
    ["cpu  1 2 3 4 x\n", null],
    ["cpu  1 2 3 -4\n", null],
    ["cpu  1 2 3 4.5\n", null],
    ["xcpu  1 2 3 4\n", null],
    ["cpu0 1 2 3 4\n", null],
    ["", null],
    ["cpu  1 2 3 12345678901234567890\n", { ...old, idle: 12_345_678_901_234_567_890 }],
    ["cpu  1 2 3 123456789012345678901\n", null],
  ])("%j", (text, ticks) => {
    expect(parseCpu(text)).toEqual(ticks);
  });
});

test.each([
  ["0.52 1 10.25 1/543 9\n", [0.52, 1, 10.25]],
  ["0.52 1\n", null],
  ["0.52 1 x 1/2 3\n", null],
  ["x 1 2 1/2 3\n", null],
  ["1 x 2 1/2 3\n", null],
  ["-1 1 2 1/2 3\n", null],
  ["1. 1 2 1/2 3\n", null],
  [".5 1 2 1/2 3\n", null],
  ["1e3 1 2 1/2 3\n", null],
  ["", null],
])("/proc/loadavg %j", (text, load) => {
  expect(parseLoad(text)).toEqual(load);
});

test.each([
  ["350735.47 234388.90\n", 350_735.47],
  ["12 1", 12],
  ["x 1", null],
  ["", null],
  [" 12 1", null],
])("/proc/uptime %j", (text, seconds) => {
  expect(parseUptime(text)).toBe(seconds);
});

test("/proc/meminfo is read as far as it counts in kB", () => {
  const text =
    "MemTotal:       8 kB\nMemFree: 10 kB\nActive(anon): 3 kB\nHugePages_Total:  4\nBad: x kB\n Not: 5 kB\n";
  expect([...parseMemory(text)]).toEqual([
    ["MemTotal", 8192],
    ["MemFree", 10_240],
  ]);
});

describe("/proc/net/dev", () => {
  const head = "Inter-|   Receive  |  Transmit\n face |bytes    packets errs|bytes packets errs\n";
  const counted = (line: string): unknown => Object.fromEntries(parseInterfaces(head + line));
  test("is read by name", () => {
    const values = { receivedBytes: 1, receiveErrors: 3, sentBytes: 9, sendErrors: 11 };
    expect(counted("  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13\neth0.7:1  2 3 4 5 6 7 8   9 10 11\n")).toEqual({
      eth0: values,
      "eth0.7": values,
    });
  });
  test.each([
    "eth0: x 2 3 4 5 6 7 8 9 10 11",
    "eth0: 1 2 x 4 5 6 7 8 9 10 11",
    "eth0: 1 2 3 4 5 6 7 8 x 10 11",
    "eth0: 1 2 3 4 5 6 7 8 9 10 x",
    "eth0: 1 2 3 4 5 6 7 8 9 10",
    "eth 0: 1 2 3 4 5 6 7 8 9 10 11",
    "eth0 1 2 3 4 5 6 7 8 9 10 11",
  ])("has nothing of %j", (line) => {
    expect(counted(`${line}\n`)).toEqual({});
  });
});

describe("/proc/diskstats", () => {
  test("is read by name, in sectors of 512 bytes", () => {
    const text = "   8       0 sda 100 5 20 30 200 6 40 1\n   8 1 sda1 1 1 1 1 1 1 2\n";
    expect(Object.fromEntries(parseDisks(text))).toEqual({
      sda: { readBytes: 10_240, writtenBytes: 20_480 },
      sda1: { readBytes: 512, writtenBytes: 1024 },
    });
  });
  test.each(["8 0 sda 1 1 x 1 1 1 1", "8 0 sda 1 1 1 1 1 1 x", "8 0 sda 1 1 1 1 1 1", "8 0", ""])(
    "has nothing of %j",
    (line) => {
      expect([...parseDisks(`${line}\n`)]).toEqual([]);
    },
  );
});

describe("/proc/self/mountinfo", () => {
  test("is read line by line, with the blanks of paths", () => {
    const text =
      "22 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw\n23 22 8:2 /sub /srv/my\\040data rw - xfs /dev/b rw\n";
    expect(parseMounts(text)).toEqual([
      { path: "/", device: "8:1", root: "/", type: "ext4" },
      { path: "/srv/my data", device: "8:2", root: "/sub", type: "xfs" },
    ]);
  });
  test("has only what octal numbers stand for put in their place", () => {
    const text = "22 1 8:1 / /a\\134b\\9\\12\\1012 rw - ext4 x rw\n";
    expect(parseMounts(text)[0]?.path).toBe("/a\\b\\9\\12A2");
  });
  test.each([
    "22 1 8:1 / /a rw ext4 x rw",
    "22 1 8:1 / /a rw - ",
    "22 1 8:1 / - ext4 x rw",
    "22 1 8:1 - ext4",
    "",
  ])("has nothing of %j", (line) => {
    expect(parseMounts(`${line}\n`)).toEqual([]);
  });
});
