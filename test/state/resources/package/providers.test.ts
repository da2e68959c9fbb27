/** The command lines that each package manager gets; apt, dnf and pacman run for real too, in package.real.test.ts and beside this file. */
import { describe, expect, test } from "vitest";
import type { HostCommand } from "../../../../lib/host/host.ts";
import { type MemoryProgram, MemoryHost } from "../../../../lib/host/memory-host.ts";
import { apkProvider } from "../../../../lib/state/resources/package/apk.ts";
import { aptProvider } from "../../../../lib/state/resources/package/apt.ts";
import { brewProvider } from "../../../../lib/state/resources/package/brew.ts";
import { dnfProvider } from "../../../../lib/state/resources/package/dnf.ts";
import { pacmanProvider } from "../../../../lib/state/resources/package/pacman.ts";
import type { PackageMachine } from "../../../../lib/state/resources/package/provider.ts";

/** A machine whose programs note their line, and answer with `stdout`. */
function record(program: string, stdout = "", exitCode = 0): { machine: PackageMachine; ran: string[] } {
  const ran: string[] = [];
  const note: MemoryProgram = ({ argv, user }) => {
    ran.push([...(user === undefined ? [] : [`${user}:`]), ...argv].join(" "));
    return { stdout, exitCode };
  };
  const host = new MemoryHost({ users: { root: 0, me: 501 }, programs: { [program]: note, rpm: note } });
  return { machine: { host, signal: new AbortController().signal, program }, ran };
}

const some = [
  { name: "nginx", version: "1.24.0-1", installed: false },
  { name: "curl", installed: true },
];
const [both, kept] = [
  { purge: true, alone: false },
  { purge: false, alone: true },
];

test("apt is asked without having its caches written anew", async () => {
  const ran: HostCommand[] = [];
  const note: MemoryProgram = (command) => {
    ran.push(command);
    return { stdout: "nginx:\n  Candidate: 1.22-1\n" };
  };
  const host = new MemoryHost({ programs: { "apt-cache": note } });
  const machine = { host, signal: new AbortController().signal, program: "/usr/bin/apt-get" };
  expect(await aptProvider.candidates(["nginx"], machine)).toEqual(["1.22-1"]);
  const argv = "apt-cache -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= policy -- nginx".split(" ");
  expect(ran).toMatchObject([{ argv, asks: true }]);
});

test.each([
  ["dnf", dnfProvider, "/usr/bin/dnf"],
  ["apk", apkProvider, "/sbin/apk"],
  ["pacman", pacmanProvider, "/usr/bin/pacman"],
  ["brew", brewProvider, "/brew"],
])("no program of %s that changes something is taken for a question", async (_name, provider, program) => {
  const questions: string[] = [];
  const note: MemoryProgram = ({ argv, asks }) => {
    if (asks === true) questions.push(argv.join(" "));
    return {};
  };
  const host = new MemoryHost({ programs: { [program]: note, rpm: note } });
  const machine = { host, signal: new AbortController().signal, program };
  await provider.refresh(machine);
  await provider.install(some, machine);
  for (const options of [both, kept]) await provider.remove(["nginx"], options, machine);
  await provider.setHeld?.(["nginx"], true, machine);
  expect(questions).toEqual([]);
});

test("dnf", async () => {
  const { machine, ran } = record("/usr/bin/dnf", "nginx\tx86_64\t1:1.24.0-1\n");
  expect(await dnfProvider.query(["nginx", "curl"], machine)).toEqual([
    { version: "1:1.24.0-1", held: false, leftovers: false },
    { version: null, held: false, leftovers: false },
  ]);
  expect(await dnfProvider.candidates(["curl", "nginx"], machine)).toEqual([null, "1:1.24.0-1"]);
  ran.length = 0;
  await dnfProvider.install(some, machine);
  await dnfProvider.remove(["nginx"], both, machine);
  await dnfProvider.remove(["nginx"], kept, machine);
  await dnfProvider.setHeld?.(["nginx"], true, machine);
  await dnfProvider.refresh(machine);
  expect(ran).toEqual([
    "/usr/bin/dnf -y install -- nginx-1.24.0-1 curl",
    "/usr/bin/dnf -y remove -- nginx",
    "rpm -e -- nginx",
    "/usr/bin/dnf -q -y versionlock add -- nginx",
    "/usr/bin/dnf -q -y makecache --refresh",
  ]);
});

test("dnf asks for locks only where there may be some", async () => {
  const { machine, ran } = record("/usr/bin/dnf", "nginx\tx86_64\t0:1.24.0-1\n");
  for (const path of ["/etc", "/etc/dnf"]) machine.host.files.makeDirectory(path, {});
  machine.host.files.writeFile("/etc/dnf/versionlock.toml", new Uint8Array(), {});
  await dnfProvider.query(["nginx"], machine);
  expect(ran.at(-1)).toBe("/usr/bin/dnf -q versionlock list");
});

test("apk", async () => {
  const { machine, ran } = record("/sbin/apk", "nginx-1.24.0-r15\n");
  expect(await apkProvider.query(["curl", "nginx"], machine)).toMatchObject([
    { version: null },
    { version: "1.24.0-r15" },
  ]);
  expect(await apkProvider.candidates(["nginx"], machine)).toEqual(["1.24.0-r15"]);
  ran.length = 0;
  await apkProvider.install([{ name: "nginx", version: "1.24.*", installed: false }, ...some], machine);
  await apkProvider.remove(["nginx"], both, machine);
  await apkProvider.refresh(machine);
  expect(ran).toEqual([
    "/sbin/apk --wait 300 add -- nginx~1.24 nginx=1.24.0-1 curl",
    "/sbin/apk --wait 300 del --purge -- nginx",
    "/sbin/apk --wait 300 update",
  ]);
});

test.each([
  ["1.24.0-r15", "nginx=1.24.0-r15"],
  ["1.24.0-r1*", "nginx~1.24.0-r1"],
  ["1.24.0-*", "nginx~1.24.0"],
  ["1.24.*", "nginx~1.24"],
  ["1.2*", "nginx~1.2"],
  ["1*", "nginx~1"],
])("apk is told the version %s as %s", async (version, words) => {
  const { machine, ran } = record("/sbin/apk");
  await apkProvider.install([{ name: "nginx", version, installed: false }], machine);
  expect(ran).toEqual([`/sbin/apk --wait 300 add -- ${words}`]);
});

test("pacman", async () => {
  const { machine, ran } = record("/usr/bin/pacman", "nginx 1.26.0-1\n");
  expect(await pacmanProvider.query(["nginx"], machine)).toMatchObject([{ version: "1.26.0-1" }]);
  ran.length = 0;
  await pacmanProvider.install(some, machine);
  await pacmanProvider.remove(["nginx"], both, machine);
  await pacmanProvider.refresh(machine);
  expect(ran).toEqual([
    "/usr/bin/pacman -S --noconfirm --needed -- nginx curl",
    "/usr/bin/pacman -Rn --noconfirm -- nginx",
    "/usr/bin/pacman -Sy --noconfirm",
  ]);
});

test("a pacman that changes something is preceded by who takes its lock away where it is older than the machine's start", async () => {
  const ran: string[] = [];
  const note: MemoryProgram = ({ argv, cwd = "" }) => (ran.push([cwd, ...argv].join(" ")), {});
  const program = "/usr/bin/pacman";
  const host = new MemoryHost({ programs: { [program]: note, find: note } });
  for (const folder of ["/proc", "/var", "/var/lib", "/var/lib/pacman"])
    host.files.makeDirectory(folder, { mode: 0o755 });
  host.files.writeFile("/proc/uptime", new TextEncoder().encode("600.5 1.0\n"), { mode: 0o444 });
  host.files.writeFile("/var/lib/pacman/db.lck", new Uint8Array(), { mode: 0o644 });
  const machine = { host, signal: new AbortController().signal, program };
  const look = "/var/lib/pacman find db.lck -type f -name db.lck -mmin +11 -exec rm -f {} +";
  for (const [change, line] of [
    [() => pacmanProvider.install(some, machine), "-S --noconfirm --needed -- nginx curl"],
    [() => pacmanProvider.remove(["nginx"], kept, machine), "-R --noconfirm -- nginx"],
    [() => pacmanProvider.refresh(machine), "-Sy --noconfirm"],
    [() => pacmanProvider.markDependencies?.(["nginx"], machine), "-D --asdeps -- nginx"],
  ] as const) {
    ran.length = 0;
    await change();
    expect(ran).toEqual([look, ` ${program} ${line}`]);
  }
  ran.length = 0;
  await pacmanProvider.query(["nginx"], machine);
  expect(ran).toEqual([` ${program} -Q -- nginx`]);
});

test("pacman ends with the number of packages that its index does not know", async () => {
  const { machine } = record("/usr/bin/pacman", "", 2);
  expect(await pacmanProvider.candidates(["none", "neither"], machine)).toEqual([null, null]);
});

test("what pacman says of a removal that it refuses is in the failure", async () => {
  const needed = record("/usr/bin/pacman", ":: removing one breaks dependency 'one' required by two\n", 1);
  const other = record("/usr/bin/pacman", "", 1);
  await expect(pacmanProvider.remove(["one"], kept, needed.machine)).rejects.toThrow(
    "Other packages need it: two.",
  );
  await expect(pacmanProvider.remove(["one"], kept, other.machine)).rejects.toThrow(
    "/usr/bin/pacman exited with 1.",
  );
});

describe("brew", () => {
  test("installs what is not there and upgrades what is", async () => {
    const { machine, ran } = record("/usr/local/bin/brew");
    await brewProvider.install(some, machine);
    await brewProvider.setHeld?.(["curl"], false, machine);
    expect(ran).toEqual([
      "/usr/local/bin/brew install -- nginx",
      "/usr/local/bin/brew upgrade -- curl",
      "/usr/local/bin/brew unpin -- curl",
    ]);
  });

  test("runs as the user that it belongs to", async () => {
    const { machine, ran } = record("/brew");
    machine.host.files.writeFile("/brew", new Uint8Array(), { uid: 501 });
    await brewProvider.refresh(machine);
    expect(ran).toEqual(["me: /brew update --quiet"]);
  });
});
