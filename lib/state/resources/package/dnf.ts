/** Fedora and its kin: rpm knows what is there, dnf fetches. It drops an index that is too old by itself. */
import type { HostCommand } from "../../../host/host.ts";
import { act, ask, commandFailed } from "../shared/command.ts";
import {
  inOrder,
  installedState,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
  type PackageRequest,
} from "./provider.ts";

const format = "%{NAME}\\t%{ARCH}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n";
const availableFormat = "%{name}\\t%{arch}\\t%{epoch}:%{version}-%{release}\\n";

export const dnfProvider: PackageProvider = {
  programs: ["/usr/bin/dnf", "/usr/bin/dnf5"],
  choosesVersions: true,
  sourcePlaces: ["/etc/yum.repos.d", "/etc/dnf"],
  async query(names, machine) {
    // Ends with the number of those that are not there.
    const codes = Array.from({ length: names.length + 1 }, (_, code) => code);
    const { stdout } = await ask({ argv: ["rpm", "-q", "--qf", format, "--", ...names] }, machine, codes);
    const found = parseRpmQuery(stdout);
    const held = await locked(found, machine);
    const states = new Map(
      [...found].map(([name, version]) => [name, installedState(version, held.has(name))]),
    );
    return inOrder(names, states, notInstalled);
  },
  async candidates(names, machine) {
    const query = ["-q", "repoquery", "--available", "--latest-limit=1", "--queryformat", availableFormat];
    const { stdout } = await ask({ argv: [machine.program, ...query, "--", ...names] }, machine);
    return inOrder<string | null>(names, parseRpmQuery(stdout), null);
  },
  async refresh(machine) {
    await act({ argv: [machine.program, "-q", "-y", "makecache", "--refresh"] }, machine);
  },
  async install(requests, machine, { exact = false } = { mayRemove: false }) {
    const options = exact ? ["-y", "--setopt=obsoletes=False"] : ["-y"];
    await act({ argv: [machine.program, ...options, "install", "--", ...requests.map(print)] }, machine);
  },
  async remove(names, { alone }, machine) {
    // rpm refuses where others need it; dnf takes them along.
    const argv = alone ? (["rpm", "-e", "--", ...names] as const) : null;
    await act({ argv: argv ?? [machine.program, "-y", "remove", "--", ...names] }, machine);
  },
  // What is in the way of an installation makes it fail; what a package says that it replaces goes for it.
  async foretellInstall(requests, machine) {
    // A look fetches nothing.
    const stdout = await transactionOf(["-C", "install", "--", ...requests.map(print)], machine);
    const own = new Set(requests.map(({ name }) => name));
    const { replaced, downgraded } = parseDnfInstall(stdout);
    const older = [...downgraded].filter(([name]) => !own.has(name));
    const names = older.map(([name]) => name);
    const states = names.length === 0 ? [] : await this.query(names, machine);
    const downgrades = older.map(([name, after], at) => ({ name, before: states[at]?.version ?? "", after }));
    return { removes: replaced.filter((name) => !own.has(name)), downgrades };
  },
  async rehearseInstall(requests, machine) {
    const command = transaction(["-C", "install", "--", ...requests.map(print)], machine);
    const result = await ask(command, machine, [0, 1]);
    if (result.exitCode === 0 || /^Transaction Summary/m.test(result.stdout)) return null;
    return commandFailed(command, result);
  },
  async foretellRemoval(names, machine) {
    const own = new Set(names);
    return [...(await removalOf(names, machine))].flatMap(([name]) => (own.has(name) ? [] : [name]));
  },
  async installedNames(machine) {
    const { stdout } = await ask({ argv: ["rpm", "-qa", "--qf", "%{NAME}\\n"] }, machine, [0, 1]);
    // A key that rpm was told of is listed as a package; it is none.
    return stdout.split("\n").filter((name) => name !== "" && name !== "gpg-pubkey");
  },
  async unused(names, machine) {
    return [...(await removalOf(names, machine))].flatMap(([name, why]) =>
      why.includes("unused") ? [name] : [],
    );
  },
  async dependencies(names, machine) {
    const query = ["-q", "repoquery", "--userinstalled", "--queryformat", "%{name}\n"];
    const { stdout } = await ask({ argv: [machine.program, ...query, "--", ...names] }, machine);
    const asked = new Set(stdout.split("\n"));
    return names.filter((name) => !asked.has(name));
  },
  async markDependencies(names, machine) {
    const verb = machine.program.endsWith("dnf5") ? "dependency" : "remove";
    await act({ argv: [machine.program, "-q", "-y", "mark", verb, "--", ...names] }, machine);
  },
  async setHeld(names, held, machine) {
    const verb = held ? "add" : "delete";
    await act({ argv: [machine.program, "-q", "-y", "versionlock", verb, "--", ...names] }, machine);
  },
};

const print = ({ name, version }: PackageRequest): string =>
  version === undefined ? name : `${name}-${version}`;

/** What `dnf remove` would take away, and under which heading it says so. */
async function removalOf(names: readonly string[], machine: PackageMachine): Promise<Map<string, string>> {
  return parseDnfRemoval(await transactionOf(["remove", "--", ...names], machine));
}

/** The table of what dnf would do; without one where it would refuse. */
async function transactionOf(args: readonly string[], machine: PackageMachine): Promise<string> {
  return (await ask(transaction(args, machine), machine, [0, 1])).stdout;
}

/** Told no, it ends with 1. */
function transaction(args: readonly string[], { program }: PackageMachine): HostCommand {
  return { argv: [program, "--assumeno", ...args], environment: { COLUMNS: "500" } };
}

/** Takes the table of an installation apart: packages that others replace, and those that would become older, with their new versions. */
export function parseDnfInstall(stdout: string): { replaced: string[]; downgraded: Map<string, string> } {
  const replaced = new Set<string>();
  const downgraded = new Map<string, string>();
  let heading = "";
  for (const line of stdout.split("\n")) {
    if (/^\S/.test(line)) heading = line;
    const [, old, next = ""] = /^ {3,}replacing +(\S+) +(\S+)/.exec(line) ?? [];
    // "name.arch version" as dnf 4 prints it, "name arch version" as dnf 5 does.
    if (old !== undefined) replaced.add(next.includes("-") ? old.replace(/\.[^.]+$/, "") : old);
    const [, name, version] = /^ (\S+) +\S+ +(\S+) /.exec(line) ?? [];
    if (heading.startsWith("Downgrading") && name !== undefined && version !== undefined)
      downgraded.set(name, version.replace(/^0:/, ""));
  }
  return { replaced: [...replaced], downgraded };
}

/** Takes the table of a transaction apart: packages that would go, and the heading over each. */
export function parseDnfRemoval(stdout: string): Map<string, string> {
  const found = new Map<string, string>();
  let heading = "";
  for (const line of stdout.split("\n")) {
    if (/^\S/.test(line)) heading = line;
    const [, name] = /^ (\S+) +\S/.exec(line) ?? [];
    if (name !== undefined && /^Removing\b.*:$/.test(heading)) found.set(name, heading);
  }
  return found;
}

/** Names of locked packages; nobody has locked one where the file of locks is not there. */
async function locked(found: ReadonlyMap<string, string>, machine: PackageMachine): Promise<Set<string>> {
  const files = ["/etc/dnf/plugins/versionlock.list", "/etc/dnf/versionlock.toml"];
  if (found.size === 0 || !files.some((path) => machine.host.files.stat(path))) return new Set();
  const { stdout } = await ask({ argv: [machine.program, "-q", "versionlock", "list"] }, machine);
  return parseVersionLocks(stdout);
}

/** Takes lines of name, architecture and version apart; the version without an epoch of 0. */
export function parseRpmQuery(stdout: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of stdout.split("\n")) {
    const [name, architecture, version] = line.split("\t");
    if (name === undefined || version === undefined) continue;
    const plain = version.replace(/^0:/, "");
    found.set(name, plain);
    found.set(`${name}.${architecture}`, plain);
  }
  return found;
}

/**
 * Names in the list of locks: `name-epoch:version-release.*` as dnf 4 prints it, `Package name: name` and conditions as dnf 5 does. A
 * version that is only kept out, by `!`, holds no package at another one.
 */
export function parseVersionLocks(stdout: string): Set<string> {
  const names = new Set<string>();
  let above: string | undefined;
  for (const line of stdout.split("\n")) {
    above = /^Package name: (\S+)$/.exec(line)?.[1] ?? above;
    if (above !== undefined && /^\w+ [<>=]+ \S/.test(line)) names.add(above);
    const [, name] = /^(\S+)-\d+:[^-\s]+-[^-\s]+$/.exec(line) ?? [];
    if (name !== undefined && !name.startsWith("!")) names.add(name);
  }
  return names;
}
