/** Fedora and its kin: rpm knows what is there, dnf fetches. It drops an index that is too old by itself. */
import { act, ask } from "../shared/command.ts";
import {
  inOrder,
  installedState,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
} from "./provider.ts";

const format = "%{NAME}\\t%{ARCH}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n";
const availableFormat = "%{name}\\t%{arch}\\t%{epoch}:%{version}-%{release}\\n";

export const dnfProvider: PackageProvider = {
  programs: ["/usr/bin/dnf", "/usr/bin/dnf5"],
  choosesVersions: true,
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
  async install(requests, machine) {
    const wanted = requests.map(({ name, version }) => (version === undefined ? name : `${name}-${version}`));
    await act({ argv: [machine.program, "-y", "install", "--", ...wanted] }, machine);
  },
  async remove(names, { alone }, machine) {
    // rpm refuses where others need it; dnf takes them along.
    const argv = alone ? (["rpm", "-e", "--", ...names] as const) : null;
    await act({ argv: argv ?? [machine.program, "-y", "remove", "--", ...names] }, machine);
  },
  async setHeld(names, held, machine) {
    const verb = held ? "add" : "delete";
    await act({ argv: [machine.program, "-q", "-y", "versionlock", verb, "--", ...names] }, machine);
  },
};

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

/** Names in the list of locks: `name-epoch:version-release.*` as dnf 4 prints it, `Package name: name` as dnf 5 does. */
export function parseVersionLocks(stdout: string): Set<string> {
  const names = new Set<string>();
  for (const line of stdout.split("\n")) {
    const [, name] = /^Package name: (\S+)$/.exec(line) ?? /^(\S+)-\d+:[^-\s]+-[^-\s]+$/.exec(line) ?? [];
    if (name !== undefined && !name.startsWith("!")) names.add(name);
  }
  return names;
}
