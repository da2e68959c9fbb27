/** A resource that changes from one version to the next: what an interruption leaves in between is made good, or taken back. */
import { expect, test } from "vitest";
import type { Host } from "../../lib/host/host.ts";
import { MemoryHost, type MemoryProgram } from "../../lib/host/memory-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { lawFolder } from "../../lib/testing/resource-laws.ts";
import { type ChangedSubject, interruptChange } from "../support/interrupted-resources.ts";
import { memoryHost, text } from "../support/laws.ts";
import { AptMachine } from "../support/machine/apt.ts";
import { createCrontab } from "../support/machine/crontab.ts";
import { gitPrograms } from "../support/machine/git.ts";
import { memoryMachine, observeAccounts, observeFiles } from "../support/machine/memory-machine.ts";
import { ServiceMachine } from "../support/machine/services.ts";
import { modelArchive, modelTar } from "../support/machine/tar.ts";

type Row = ChangedSubject & { create: () => Host };

function versions(common: JsonObject, from: JsonObject, to: JsonObject): ChangedSubject["versions"] {
  return [
    { ...common, ...from },
    { ...common, ...to },
  ];
}

/** Puts files on a machine, with the folders above them. */
function filled(files: Record<string, string>): (host: Host) => void {
  return (host) => {
    for (const [path, content] of Object.entries(files)) {
      makeFolders(host, path.slice(0, path.lastIndexOf("/")));
      host.files.writeFile(path, text(content), { mode: 0o644 });
    }
  };
}

function makeFolders(host: Host, path: string): void {
  if (path === "" || host.files.stat(path)) return;
  makeFolders(host, path.slice(0, path.lastIndexOf("/")));
  host.files.makeDirectory(path, { mode: 0o755 });
}

function machineWith(programs: (host: () => Host) => Record<string, MemoryProgram>): () => MemoryHost {
  return () => {
    const host: MemoryHost = new MemoryHost({ users: { root: 0 }, programs: programs(() => host) });
    makeFolders(host, lawFolder);
    return host;
  };
}

const archives = {
  "/old.tar": modelArchive([
    { name: "bin/" },
    { name: "bin/tool", content: "1" },
    { name: "bin/gone", content: "1" },
  ]),
  "/new.tar": modelArchive([
    { name: "bin/" },
    { name: "bin/tool", content: "2" },
    { name: "bin/more", content: "2" },
  ]),
};
const archiveRow: Row = {
  versions: versions({ type: "archive", path: "/work/tool" }, { source: "/old.tar" }, { source: "/new.tar" }),
  create: machineWith((host) => ({ tar: (command) => modelTar(command, host().files), sync: () => ({}) })),
  prepare(host) {
    for (const [path, content] of Object.entries(archives)) host.files.writeFile(path, content, {});
  },
};

function aptRow(from: JsonObject, to: JsonObject): Row {
  let machine: AptMachine;
  return {
    versions: versions({ type: "package" }, from, to),
    create() {
      machine = new AptMachine({ archive: { nginx: ["1.21", "1.22"], curl: ["8.0"], jq: ["1.6"] } });
      machine.install("jq", "1.6");
      return machine.host;
    },
    observe: () => machine.list(),
  };
}

function serviceRow(init: "systemd" | "sysvinit" | "openrc", from: JsonObject, to: JsonObject): Row {
  let machine: ServiceMachine;
  return {
    versions: versions({ type: "service", name: "nginx" }, from, to),
    create() {
      machine = new ServiceMachine(init);
      machine.add("nginx");
      return machine.host;
    },
    observe: () => Object.fromEntries([...machine.services].map(([name, { ...state }]) => [name, state])),
  };
}

function cronRow(from: JsonObject, to: JsonObject): Row {
  let crontabs: Map<string, string>;
  return {
    versions: versions({ type: "cron", name: "backup" }, from, to),
    create() {
      crontabs = new Map([["root", "# mine\n@daily mine\n"]]);
      return machineWith(() => ({ crontab: createCrontab(crontabs) }))();
    },
    observe: () => Object.fromEntries(crontabs),
  };
}

function hostnameRow(): Row {
  let kernelName: string;
  return {
    versions: versions({ type: "hostname" }, { name: "web-1" }, { name: "web-2" }),
    create() {
      kernelName = "old";
      return machineWith(() => ({
        uname: () => ({ stdout: `${kernelName}\n` }),
        hostname: ({ argv }) => ((kernelName = argv[1] ?? ""), {}),
      }))();
    },
    prepare: filled({ "/etc/hostname": "old\n" }),
    observe: (host) => [kernelName, observeFiles("/etc/hostname")(host)],
  };
}

const [first, second] = ["1".repeat(40), "2".repeat(40)];
const repository = "https://git.example/site.git";
const gitRow: Row = {
  versions: versions(
    { type: "git", path: "/work/site", repository },
    { revision: "v1" },
    { revision: "main" },
  ),
  create: machineWith((host) =>
    gitPrograms(() => host().files, {
      [repository]: {
        refs: { HEAD: second, "refs/heads/main": second, "refs/tags/v1": first },
        commits: { [first]: { page: "one\n", old: "old\n" }, [second]: { page: "two\n" } },
      },
    }),
  ),
};

const downloads = { "https://files.example/1": text("one"), "https://files.example/2": text("two") };
const hashes = {
  "https://files.example/1": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
  "https://files.example/2": "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
};
const downloadRow: Row = {
  versions: versions(
    { type: "download", path: "/work/tool" },
    { url: "https://files.example/1", sha256: hashes["https://files.example/1"], mode: "0755" },
    { url: "https://files.example/2", sha256: hashes["https://files.example/2"], mode: "0700" },
  ),
  create() {
    const host = new MemoryHost({ downloads });
    makeFolders(host, lawFolder);
    return host;
  },
  prepare: filled({ "/work/tool": "theirs" }),
};

const home = "/work/deploy";
const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";
const keyRow: Row = {
  versions: versions(
    { type: "authorized_key", user: "deploy", key },
    { options: "no-pty" },
    { options: 'from="::1"' },
  ),
  create: memoryHost,
  prepare: filled({ "/etc/passwd": `deploy:x:0:0::${home}:/bin/sh\n`, [`${home}/.profile`]: "" }),
};

const apt = { "/etc/apt/sources.list.d/other.sources": "Types: deb\n" };
const repositoryRow: Row = {
  versions: versions(
    { type: "package_repository", name: "site", suites: ["stable"], components: ["main"] },
    {
      uris: ["https://example.org/1"],
      key: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmDMEZ\n-----END PGP PUBLIC KEY BLOCK-----",
    },
    { uris: ["https://example.org/2"] },
  ),
  create: machineWith(() => ({ "/usr/bin/apt-get": () => ({}) })),
  prepare: filled(apt),
  observe: observeFiles("/etc/apt/keyrings/site.asc", "/etc/apt/sources.list.d/site.sources"),
};

const zones = "/usr/share/zoneinfo";
const timezoneRow: Row = {
  versions: versions({ type: "timezone" }, { name: "Europe/Berlin" }, { name: "Europe/Rome" }),
  create: memoryHost,
  prepare(host) {
    const zone = "TZif";
    filled({ [`${zones}/UTC`]: zone, [`${zones}/Europe/Berlin`]: zone, [`${zones}/Europe/Rome`]: zone })(
      host,
    );
    filled({ "/etc/timezone": "UTC\n" })(host);
    host.files.makeSymlink("/etc/localtime", `${zones}/UTC`);
  },
  observe: (host) => [
    host.files.readLink("/etc/localtime").replace(/^.*zoneinfo\//, ""),
    observeFiles("/etc/timezone")(host),
  ],
};

const unit = (content: string): JsonObject => ({ content: `[Service]\nExecStart=${content}\n` });
const unitRow: Row = {
  versions: versions({ type: "systemd_unit", name: "site.service" }, unit("/bin/true"), unit("/bin/false")),
  create: machineWith(() => ({ systemctl: () => ({}) })),
  prepare: filled({ "/run/systemd/system/x": "", "/etc/systemd/system/other.service": "" }),
  observe: observeFiles("/etc/systemd/system/site.service"),
};

const onMachine = (
  common: JsonObject & { type: string },
  [from, to]: readonly [JsonObject, JsonObject],
  more: Partial<Omit<Row, "versions">> = {},
): Row => ({ versions: versions(common, from, to), create: memoryMachine, ...more });

const conf = filled({ "/work/conf": "first\nbeta=0\nlast\n" });
const accounts = { observe: observeAccounts };
const rows: Record<string, Row> = {
  "an archive": archiveRow,
  "a key": keyRow,
  "a block": onMachine(
    { type: "block", path: "/work/conf" },
    [{ content: "one\ntwo\n" }, { content: "three\n" }],
    {
      prepare: conf,
    },
  ),
  "a block that goes": onMachine(
    { type: "block", path: "/work/conf" },
    [{ content: "one\n" }, { ensure: "absent" }],
    { prepare: conf },
  ),
  "a job": cronRow({ command: "one", hour: 3 }, { command: "two", minute: 5 }),
  "a job that goes": cronRow({ command: "one", hour: 3 }, { ensure: "absent" }),
  "a folder": onMachine({ type: "directory", path: "/work/a/b", parents: true }, [
    { mode: "0700" },
    { mode: "0755", owner: "root" },
  ]),
  "a download": downloadRow,
  "a file": onMachine(
    { type: "file", path: "/work/conf" },
    [
      { content: "one", mode: "0600" },
      { content: "two", mode: "0644" },
    ],
    { prepare: conf },
  ),
  "a file that gets content too": onMachine(
    { type: "file", path: "/work/conf" },
    [{ mode: "0600" }, { mode: "0640", content: "ours" }],
    { prepare: conf },
  ),
  "a file with a mode that goes": onMachine(
    { type: "file", path: "/work/conf" },
    [{ mode: "0600" }, { ensure: "absent" }],
    { prepare: conf },
  ),
  "a folder that is purged too": onMachine(
    { type: "directory", path: "/work/d" },
    [{ mode: "0700" }, { mode: "0711", recurse: true, purge: true }],
    { prepare: filled({ "/work/d/sub/file": "theirs" }) },
  ),
  "a group that was there": onMachine(
    { type: "group", name: "users" },
    [{ gid: 2000 }, { members: ["root"] }],
    accounts,
  ),
  "a user who was there": onMachine(
    { type: "user", name: "root" },
    [{ shell: "/bin/bash" }, { comment: "ours", groups: ["users"] }],
    accounts,
  ),
  "a file that goes": onMachine(
    { type: "file", path: "/work/conf" },
    [{ content: "one" }, { ensure: "absent" }],
    {
      prepare: conf,
    },
  ),
  "a clone": gitRow,
  "a group": onMachine(
    { type: "group", name: "deploy" },
    [{ gid: 2000, members: ["root"] }, { gid: 2001 }],
    accounts,
  ),
  "a name of an address": onMachine(
    { type: "host_entry" },
    [
      { ip: "192.0.2.1", name: "db" },
      { ip: "192.0.2.2", name: "db", aliases: ["db.example"] },
    ],
    { prepare: filled({ "/etc/hosts": "127.0.0.1 localhost\n" }), observe: observeFiles("/etc/hosts") },
  ),
  "the name of a machine": hostnameRow(),
  "a line in the place of another": onMachine(
    { type: "line", path: "/work/conf", match: "beta=*" },
    [{ line: "beta=1" }, { line: "beta=2" }],
    { prepare: conf },
  ),
  "a line that its pattern does not match": onMachine(
    { type: "line", path: "/work/conf", match: "beta=*" },
    [{ line: "alpha" }, { line: "gamma" }],
    { prepare: conf },
  ),
  "a line that goes": onMachine(
    { type: "line", path: "/work/conf", match: "beta=*" },
    [{ line: "beta=1" }, { line: "beta=1", ensure: "absent" }],
    { prepare: conf },
  ),
  "a mount": onMachine(
    { type: "mount", path: "/work/cache", device: "tmpfs", fstype: "tmpfs" },
    [{ options: ["size=64m"] }, { options: ["size=64m", "noexec"] }],
    {
      prepare: filled({ "/work/cache/x": "", "/etc/fstab": "# disks\n" }),
      observe: observeFiles("/etc/fstab", "/proc/self/mountinfo"),
    },
  ),
  "a package": aptRow(
    { name: "nginx", version: "1.21*", hold: true },
    { name: "nginx", version: "1.22*", hold: false },
  ),
  "more packages": aptRow({ name: ["nginx"] }, { name: ["nginx", "curl"] }),
  "fewer packages": aptRow({ name: ["nginx", "curl"] }, { name: ["nginx"] }),
  "a package that goes": aptRow({ name: "jq" }, { name: "jq", ensure: "absent" }),
  "a repository of packages": repositoryRow,
  "a script": {
    versions: versions(
      { type: "script" },
      { run: "touch work/one", check: "test -e work/one", undo: "rm work/one" },
      { run: "touch work/one", creates: "/work/one", undo: "rm work/one" },
    ),
    isAlike: true,
    create: memoryHost,
  },
  "a service of systemd": serviceRow(
    "systemd",
    { masked: false, running: true, enabled: true },
    { masked: true },
  ),
  "a service of SysV": serviceRow("sysvinit", { running: true }, { running: false, enabled: true }),
  "a service of OpenRC": serviceRow("openrc", { enabled: true }, { running: true }),
  "a link": onMachine(
    { type: "symlink", path: "/work/link", force: true },
    [{ target: "one" }, { target: "two" }],
    {
      prepare: filled({ "/work/link": "theirs" }),
    },
  ),
  "a setting of the kernel": onMachine(
    { type: "sysctl", key: "net.ipv4.ip_forward" },
    [{ value: 1 }, { ensure: "absent" }],
    { observe: observeFiles("/proc/sys/net/ipv4/ip_forward", "/etc/sysctl.d/90-fleetwright.conf") },
  ),
  "a unit": unitRow,
  "a time zone": timezoneRow,
  "a user": onMachine(
    { type: "user", name: "deploy", uid: 2000 },
    [{ shell: "/bin/sh" }, { shell: "/bin/bash", groups: ["root"] }],
    accounts,
  ),
};

test.each(Object.entries(rows))("%s: whatever fails, and whatever follows", async (_name, row) => {
  expect(await interruptChange(row, row.create)).toEqual([]);
  const [from, to] = row.versions;
  expect(await interruptChange({ ...row, versions: [to, from] }, row.create)).toEqual([]);
});

test("each type has a row", () => {
  const types = new Set(Object.values(rows).map(({ versions: [{ type }] }) => type));
  expect([...types].sort()).toEqual([...resourceTypes.keys()].sort());
});
