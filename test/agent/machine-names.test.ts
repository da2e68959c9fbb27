/** What an agent says of the names, addresses and processors of its machine, as the system tells of them. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os, { type NetworkInterfaceInfo } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { collectAttributes } from "../../lib/agent/attributes.ts";
import type { Attributes } from "../../lib/wire/messages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Has the system tell of another machine for the rest of a test. */
function pretend(system: Partial<typeof os>): void {
  const names = Object.keys(system) as (keyof typeof os)[];
  const original = Object.fromEntries(names.map((name) => [name, os[name]]));
  Object.assign(os, system);
  syncBuiltinESMExports();
  onTestFinished(() => {
    Object.assign(os, original);
    syncBuiltinESMExports();
  });
}

function factsOf(root = temporaryFolder(), custom: Attributes = {}): Attributes {
  return collectAttributes({ root, agentVersion: "1.0.0", custom });
}

function withHosts(text: string): string {
  const root = temporaryFolder();
  mkdirSync(join(root, "etc"));
  writeFileSync(join(root, "etc/hosts"), text);
  return root;
}

test.each<[what: string, name: string, hosts: string, fqdn: string]>([
  ["a name that is full by itself", "db-1.a.test", "10.0.0.1 db-1.a.test.b.test\n", "db-1.a.test"],
  ["no other name", "db-1", "10.0.0.1 db-1\n", "db-1"],
  ["no file", "db-1", "", "db-1"],
  ["a full name behind the short one", "db-1", "10.0.0.1 db-1 db-1.a.test\n", "db-1.a.test"],
  ["two full names", "db-1", "10.0.0.1 db-1.a.test\n10.0.0.2 db-1.b.test\n", "db-1.a.test"],
  ["the name of another whose name begins so", "db-1", "10.0.0.1 db-12.a.test db-1.b.test", "db-1.b.test"],
  ["a comment", "db-1", "#10.0.0.1 db-1.a.test\n10.0.0.1 x # db-1.b.test\n", "db-1"],
  ["its name in the place of an address", "db-1", "db-1.a.test x\n", "db-1"],
  ["blanks of all kinds", "db-1", "\t 10.0.0.1 \t db-1.a.test\t# x\n", "db-1.a.test"],
])("the full name of a machine with %s", (_what, name, hosts, fqdn) => {
  pretend({ hostname: () => name });
  expect(factsOf(withHosts(hosts))).toMatchObject({ hostname: name, fqdn });
});

const address = (text: string, internal = false): NetworkInterfaceInfo => ({
  address: text,
  internal,
  family: "IPv4",
  netmask: "",
  mac: "",
  cidr: null,
});

test("the addresses at which it can be reached are told once each, in order", () => {
  pretend({
    networkInterfaces: () => ({
      lo: [address("127.0.0.1", true)],
      eth1: [address("192.0.2.9"), address("fe80::1")],
      eth0: [address("192.0.2.1"), address("2001:db8::fe80"), address("192.0.2.9")],
      none: undefined,
    }),
  });
  expect(factsOf()["network.addresses"]).toBe("192.0.2.1,192.0.2.9,2001:db8::fe80");
});

test("no address is told in part", () => {
  const all = Array.from({ length: 300 }, (_, at) => `2001:db8::${String(at).padStart(4, "0")}`);
  pretend({ networkInterfaces: () => ({ eth0: all.map((each) => address(each)) }) });
  const told = String(factsOf()["network.addresses"]);
  // 68 of 14 characters, and a comma between each two: one more would be 1,034.
  expect([told.length, told]).toEqual([1019, all.slice(0, 68).join(",")]);
  const exact = ["a".repeat(512), "b".repeat(511), "c"];
  pretend({ networkInterfaces: () => ({ eth0: exact.map((each) => address(each)) }) });
  expect(factsOf()["network.addresses"]).toBe(exact.slice(0, 2).join(","));
  const more = ["a".repeat(512), "b".repeat(512)];
  pretend({ networkInterfaces: () => ({ eth0: more.map((each) => address(each)) }) });
  expect(factsOf()["network.addresses"]).toBe(more[0]);
  pretend({ networkInterfaces: () => ({}) });
  expect(factsOf()).not.toHaveProperty(["network.addresses"]);
});

test("its processors are counted, and named without what stands around the name", () => {
  const cpu = (model: string): os.CpuInfo => ({ model, speed: 1, times: os.cpus()[0]!.times });
  const two = [cpu("  Zeta 9 \n"), cpu("other")];
  pretend({ cpus: () => two });
  expect(factsOf()).toMatchObject({ "cpu.count": 2, "cpu.model": "Zeta 9" });
  pretend({ cpus: () => [] });
  expect(factsOf()).toMatchObject({ "cpu.count": 0 });
  expect(factsOf()).not.toHaveProperty(["cpu.model"]);
});

test("its time zone is the one that its clock is linked to, else that of the process", () => {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zoneOf = (target: string | null): unknown => {
    const root = withHosts("");
    if (target === "") writeFileSync(join(root, "etc/localtime"), "TZif2");
    else if (target !== null) symlinkSync(target, join(root, "etc/localtime"));
    return factsOf(root)["timezone"];
  };
  expect(zoneOf("/usr/share/zoneinfo/Europe/Berlin")).toBe("Europe/Berlin");
  expect(zoneOf("../usr/share/zoneinfo/America/Argentina/Ushuaia")).toBe("America/Argentina/Ushuaia");
  for (const target of ["/etc/other", "", null]) expect(zoneOf(target)).toBe(own);
});

test("one that is no Linux is told by the name of its system, without what is read on Linux alone", () => {
  const root = withHosts("");
  writeFileSync(join(root, "etc/os-release"), "ID=debian\nVERSION_ID=12\n");
  pretend({ platform: () => "darwin", arch: () => "arm64", release: () => "24.0" });
  const facts = factsOf(root);
  expect(facts).toMatchObject({
    "os.family": "darwin",
    "os.distro": "darwin",
    "os.kernel": "24.0",
    "os.arch": "arm64",
    init_system: "launchd",
  });
  for (const name of ["os.version", "virtualization"]) expect(facts).not.toHaveProperty([name]);
});

test("what the owner adds stands beside it, cut to what a value may be", () => {
  const custom = { "custom.a": "x".repeat(1025), "custom.none": "", "custom.no": false, "custom.zero": 0 };
  expect(factsOf(temporaryFolder(), custom)).toMatchObject({
    "agent.version": "1.0.0",
    "custom.a": "x".repeat(1024),
    "custom.no": false,
    "custom.zero": 0,
  });
  expect(factsOf(temporaryFolder(), custom)).not.toHaveProperty(["custom.none"]);
});
