import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { cgroupsIn, ownProcess } from "../../lib/host/own-process.ts";

const rows: [name: string, text: string, groups: string[]][] = [
  [
    "version 2",
    "0::/system.slice/agent.service/fleetwright-1\n",
    ["/system.slice/agent.service/fleetwright-1"],
  ],
  [
    "both versions, each path once",
    "8:pids:/a.service\n1:name=systemd:/a.service\n0::/a.service\n",
    ["/a.service"],
  ],
  ["several", "2:cpu,cpuacct:/a\n0::/b\n", ["/a", "/b"]],
  ["a name with a colon and spaces", "0::/x y:z\n", ["/x y:z"]],
  ["the root, which says nothing", "1:name=systemd:/\n0::/\n", []],
  ["outside of what can be seen", "0::/../other.service\n", []],
  ["nothing", "", []],
  ["what is no such file", "a\n0:/b\n::/c\n", []],
];

test.each(rows)("the control groups of a process are read: %s", (_name, text, groups) => {
  expect(cgroupsIn(text)).toEqual(groups);
});

test("this process is known by its number, that of who started it, and their begins", async () => {
  const { line } = ownProcess();
  expect(line[0]?.pid).toBe(process.pid);
  if (process.ppid > 1) expect(line[1]?.pid).toBe(process.ppid);
  if (process.platform !== "linux") return;
  const [own, parent] = line;
  expect(own!.begun).toBeGreaterThan(0);
  if (parent) expect(own!.begun).toBeGreaterThanOrEqual(parent.begun);
});

test.skipIf(process.platform !== "linux")("it is where /proc says", async () => {
  const child = spawn("cat", [`/proc/${process.pid}/cgroup`]);
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  await once(child, "close");
  for (const group of ownProcess().cgroups) expect(text).toContain(`:${group}\n`);
  expect(ownProcess()).toEqual(ownProcess());
});
