/**
 * Types whose files have fixed places: whatever stood there, in whatever form, stands there again when the resource is gone. Each
 * starting state is put together at random from a seed: lines of ours and of others, comments, every kind of line end, modes and
 * owners. A type that refuses what stands must leave it alone.
 */
import { describe, expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { evilModes } from "../../support/evil.ts";
import { createCrontab } from "../../support/machine/crontab.ts";
import { kernelPrograms, prepareKernel } from "../../support/machine/kernel.ts";
import { foretold, told } from "../../support/plan-and-apply.ts";
import { seededRandom } from "../../support/random.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

/** How many starting states a type is tried on. */
const histories = 150;

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";

interface Row {
  /** The files that it owns, or parts of. */
  paths: string[];
  /** Lines that say something of what it owns. */
  own: string[];
  versions: JsonObject[];
  /** It is in the crontab of root, where every line ends and is one that cron takes. */
  isCrontab?: boolean;
  /** Owner of its files. Default: anybody. */
  uid?: number;
}

const entry = { type: "host_entry", name: "db", ip: "10.0.0.5" };
const sysctl = { type: "sysctl", key: "net.ipv4.ip_forward", path: "/etc/sysctl.d/90-fleetwright.conf" };
const mount = { type: "mount", path: "/srv/data", device: "/dev/sdb1", fstype: "ext4" };
const authorized = { type: "authorized_key", user: "deploy", key };
const unit = { type: "systemd_unit", name: "site.service" };
const source = { type: "package_repository", name: "site", uris: ["https://example.org"], provider: "apt" };

const rows: Readonly<Record<string, Row>> = {
  host_entry: {
    paths: ["/etc/hosts"],
    own: ["10.0.0.5 db", "10.0.0.7\tdb  other # why"],
    versions: [
      entry,
      { ...entry, aliases: ["d"] },
      { ...entry, ip: "10.0.0.6" },
      { ...entry, ensure: "absent" },
    ],
  },
  sysctl: {
    paths: ["/etc/sysctl.d/90-fleetwright.conf"],
    own: ["net.ipv4.ip_forward=0", "-net/ipv4/ip_forward =  1 "],
    versions: [
      { ...sysctl, value: "1" },
      { ...sysctl, value: "0" },
      { ...sysctl, ensure: "absent" },
    ],
  },
  mount: {
    paths: ["/etc/fstab"],
    own: [
      "/dev/sdb1\t/srv/data ext4   noatime,x-systemd.automount 0 2 # data",
      "  UUID=1-2 /srv/data xfs defaults",
      "LABEL=a /srv/data btrfs subvol=/a 1 2 more fields",
    ],
    versions: [
      { ...mount, ensure: "present" },
      { ...mount, ensure: "unmounted", options: ["noatime"], pass: 2 },
      { ...mount, ensure: "present", device: "UUID=3-4" },
      { type: "mount", path: "/srv/data", ensure: "absent" },
    ],
  },
  hostname: {
    paths: ["/etc/hostname"],
    own: ["old", "  new  "],
    versions: [
      { type: "hostname", name: "new" },
      { type: "hostname", name: "newer" },
    ],
  },
  timezone: {
    paths: ["/etc/timezone", "/etc/localtime"],
    own: ["UTC", "Europe/Berlin"],
    versions: [
      { type: "timezone", name: "Europe/Berlin" },
      { type: "timezone", name: "UTC" },
    ],
  },
  authorized_key: {
    paths: ["/home/deploy/.ssh/authorized_keys"],
    uid: 1001,
    own: [key, `no-pty  ${key} me@here`, `from="1.2.3.4" ${key}`],
    versions: [authorized, { ...authorized, options: "no-pty" }, { ...authorized, ensure: "absent" }],
  },
  systemd_unit: {
    paths: ["/etc/systemd/system/site.service"],
    own: ["[Service]"],
    versions: [
      { ...unit, content: "[Service]\n" },
      { ...unit, content: "x" },
      { ...unit, ensure: "absent" },
    ],
  },
  "systemd_unit, drop-in": {
    paths: ["/etc/systemd/system/site.service.d/a.conf"],
    own: ["[Service]"],
    versions: [
      { ...unit, drop_in: "a.conf", content: "[Service]\n" },
      { ...unit, drop_in: "a.conf", ensure: "absent" },
    ],
  },
  package_repository: {
    paths: ["/etc/apt/sources.list.d/site.sources", "/etc/apt/keyrings/site.asc"],
    own: ["Types: deb"],
    versions: [
      source,
      { ...source, key: "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nx\n-----END PGP PUBLIC KEY BLOCK-----" },
      { ...source, ensure: "absent" },
    ],
  },
  cron: {
    paths: [],
    isCrontab: true,
    own: [
      "# BEGIN fleetwright: job\n1 2 3 * * /bin/old\n# END fleetwright: job",
      "# BEGIN fleetwright: job\n# END fleetwright: job",
    ],
    versions: [
      { type: "cron", name: "job", hour: 3, command: "/bin/new" },
      { type: "cron", name: "job", hour: 4, command: "/bin/newer" },
      { type: "cron", name: "job", ensure: "absent" },
    ],
  },
  line: {
    paths: ["/etc/a.conf"],
    own: ["old"],
    versions: [
      { type: "line", path: "/etc/a.conf", line: "ours 1", match: ["old", "ours *"], create: true },
      { type: "line", path: "/etc/a.conf", line: "ours 2", match: ["old", "ours *"], create: true },
      { type: "line", path: "/etc/a.conf", line: "old", match: "old", ensure: "absent" },
    ],
  },
  block: {
    paths: ["/etc/a.conf"],
    own: ["# BEGIN block\nx\n# END block"],
    versions: [
      { type: "block", path: "/etc/a.conf", content: "ours", create: true },
      { type: "block", path: "/etc/a.conf", content: "a\nb\n", create: true },
      { type: "block", path: "/etc/a.conf", ensure: "absent" },
    ],
  },
  file: {
    paths: ["/etc/a.conf"],
    own: ["old"],
    versions: [
      { type: "file", path: "/etc/a.conf", content: "ours" },
      { type: "file", path: "/etc/a.conf", mode: "0640", owner: "1001" },
      { type: "file", path: "/etc/a.conf", ensure: "absent" },
    ],
  },
};

const others = [
  "# a comment",
  "",
  "   ",
  "\t# tabs",
  "127.0.0.1 localhost",
  "127.0.0.1 localhost",
  "a = b",
  "ünïcode",
];

const crontabLines = ["# a comment", "", "MAILTO=root", "5 4 * * * /bin/other", "5 4 * * * /bin/other"];

for (const [name, row] of Object.entries(rows))
  describe(name, () => {
    test(`gives back what stood, ${histories} times`, async () => {
      let changed = 0;
      for (let seed = 1; seed <= histories; seed += 1) changed += await tryHistory(row, seed);
      // Most of what may stand is something that it can work on.
      expect(changed).toBeGreaterThan(histories / 2);
    });
  });

/** Prepares a machine, applies up to three versions and takes them away. Whether anything was changed. */
async function tryHistory({ paths, own, versions, uid, isCrontab }: Row, seed: number): Promise<0 | 1> {
  const random = seededRandom(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const { state, crontabs } = createMachine();
  const { files } = state.host;
  for (const path of paths) {
    const start = pick([
      "none",
      "none",
      "empty",
      "text",
      "text",
      "text",
      "text",
      "text",
      "text",
      "link",
    ] as const);
    makeFolder(path, state.host, uid);
    if (start === "none" || files.stat(path)) continue;
    const attributes = {
      mode: pick([0o644, 0o644, ...evilModes]),
      uid: uid ?? pick([0, 33]),
      gid: pick([0, 33]),
    };
    if (start === "link") files.makeSymlink(path, pick(["../run/elsewhere", "/nowhere", "a.target"]));
    else files.writeFile(path, Buffer.from(start === "empty" ? "" : textOf(own, random)), attributes);
  }
  if (paths.includes("/etc/localtime")) prepareZone(state.host, pick);
  if (isCrontab) {
    const lines = Array.from({ length: Math.floor(random() * 5) }, () => pick(crontabLines));
    if (random() < 0.6) lines.splice(Math.floor(random() * (lines.length + 1)), 0, pick(own));
    if (random() < 0.8) crontabs.set("root", lines.map((line) => `${line}\n`).join(""));
  }
  const before = snapshot(state.host, crontabs);
  let changed: 0 | 1 = 0;
  for (const version of [pick(versions), pick(versions), pick(versions)].slice(
    0,
    1 + Math.floor(random() * 3),
  )) {
    const wanted = declare([{ id: "r", ...version }]);
    const plan = await state.run("plan", wanted);
    const done = await state.run("apply", wanted);
    expect(told(done), `seed ${seed}: the apply does what the plan said`).toEqual(foretold(plan, done));
    if (done.results.some(({ outcome }) => outcome === "changed")) changed = 1;
  }
  const plan = await state.run("plan", []);
  const removal = await state.run("apply", []);
  expect(told(removal), `seed ${seed}: the removal does what its plan said`).toEqual(foretold(plan, removal));
  expect(
    removal.results.filter(({ outcome }) => outcome === "failed"),
    `seed ${seed}`,
  ).toEqual([]);
  expect(snapshot(state.host, crontabs), `seed ${seed}`).toEqual(before);
  return changed;
}

function textOf(own: readonly string[], random: () => number): string {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const lines = Array.from({ length: Math.floor(random() * 6) }, () => pick(others));
  const ours = pick([0, 1, 1, 1, 2]);
  for (let count = 0; count < ours; count += 1)
    lines.splice(Math.floor(random() * (lines.length + 1)), 0, pick(own));
  const [end] = [pick(["\n", "\n", "\r\n"])];
  const mixed = random() < 0.2;
  const text = lines
    .map((line) => line.replaceAll("\n", end) + (mixed ? pick(["\n", "\r\n"]) : end))
    .join("");
  return random() < 0.4 ? text.replace(/\r?\n$/, "") : text;
}

/** A link as administrators make it, relative or not, or a copy of the zone's file. */
function prepareZone({ files }: Host, pick: <T>(from: readonly T[]) => T): void {
  const path = "/etc/localtime";
  if (files.stat(path)) files.removeFile(path);
  const start = pick([
    "../usr/share/zoneinfo/UTC",
    "/usr/share/zoneinfo/Europe/Berlin",
    "copy",
    "copy",
    "none",
  ]);
  if (start === "copy")
    files.writeFile(path, Buffer.from("TZif UTC"), { mode: pick([0o644, 0o600]), uid: pick([0, 33]) });
  else if (start !== "none")
    files.makeSymlink(
      path,
      start,
      pick([
        { uid: 0, gid: 0 },
        { uid: 33, gid: 33 },
      ]),
    );
}

function makeFolder(path: string, { files }: Host, uid = 0): void {
  let folder = "";
  for (const part of path.split("/").slice(1, -1)) {
    folder = `${folder}/${part}`;
    const owned = folder.startsWith("/home/") ? uid : 0;
    if (!files.stat(folder))
      files.makeDirectory(folder, { mode: owned === 0 ? 0o755 : 0o750, uid: owned, gid: owned });
  }
}

function createMachine(): { state: StateFixture; crontabs: Map<string, string> } {
  const crontabs = new Map<string, string>();
  let name = "old";
  const host: MemoryHost = new MemoryHost({
    users: { root: 0, www: 33, deploy: 1001 },
    programs: {
      ...kernelPrograms(() => host),
      crontab: createCrontab(crontabs),
      uname: () => ({ stdout: `${name}\n` }),
      hostname: ({ argv }) => ((name = argv[1] ?? ""), {}),
      "/usr/bin/apt-get": () => ({}),
    },
  });
  host.files.makeDirectory("/etc", { mode: 0o755 });
  prepareKernel(host);
  host.files.removeFile("/etc/fstab");
  for (const path of ["/usr/share/zoneinfo/Europe/x", "/srv/data/x", "/etc/apt/sources.list.d/x"])
    makeFolder(path, host);
  for (const zone of ["UTC", "Europe/Berlin"])
    host.files.writeFile(`/usr/share/zoneinfo/${zone}`, Buffer.from(`TZif ${zone}`), { mode: 0o644 });
  const passwd =
    "root:x:0:0::/root:/bin/sh\nwww:x:33:33::/srv:/bin/sh\ndeploy:x:1001:1001::/home/deploy:/bin/sh\n";
  host.files.writeFile("/etc/passwd", Buffer.from(passwd), { mode: 0o644 });
  return { state: new StateFixture(host), crontabs };
}

/** All that stands on the machine: kinds, modes, owners, bytes and targets; and every crontab. */
function snapshot({ files }: Host, crontabs: ReadonlyMap<string, string>): JsonObject {
  const found: JsonObject = Object.fromEntries(
    [...crontabs].map(([user, text]) => [`crontab of ${user}`, text]),
  );
  const look = (path: string): void => {
    const stat = files.stat(path);
    if (!stat) return;
    const { kind, mode, uid, gid } = stat;
    const holds =
      kind === "file"
        ? JSON.stringify(Buffer.from(files.readFile(path)).toString("latin1"))
        : kind === "symlink"
          ? files.readLink(path)
          : "";
    found[path] = `${kind} ${kind === "symlink" ? "" : mode.toString(8)} ${uid}:${gid} ${holds}`;
    if (kind === "directory")
      for (const each of files.list(path)) look(path === "/" ? `/${each}` : `${path}/${each}`);
  };
  look("/");
  return found;
}
