/** Debian and its kin: dpkg knows what is there, apt fetches. */
import { OrchestratorError } from "../../../errors.ts";
import type { HostCommand } from "../../../host/host.ts";
import { act, ask, commandFailed } from "../shared/command.ts";
import { bareName } from "./prior.ts";
import {
  inOrder,
  noPackage,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
  type PackageRequest,
  type PackageState,
  type SideEffects,
} from "./provider.ts";

/** Nobody answers questions; a changed configuration file is kept as it is. */
const environment = { DEBIAN_FRONTEND: "noninteractive", APT_LISTCHANGES_FRONTEND: "none" };
const keepConfiguration = ["--force-confdef", "--force-confold"];

/** Waits for another package manager to finish, seconds. */
const lockTimeout = "DPkg::Lock::Timeout=300";

/** To be asked changes nothing, not even the caches that apt would renew: it puts together in memory what it is asked for. */
const withoutCaches = ["-o", "Dir::Cache::pkgcache=", "-o", "Dir::Cache::srcpkgcache="];

/** Where dpkg keeps what an interrupted run left to do. */
const unfinishedFolder = "/var/lib/dpkg/updates";

const format = "${Package}\\t${Architecture}\\t${db:Status-Want}\\t${db:Status-Status}\\t${Version}\\n";

export const aptProvider: PackageProvider = {
  programs: ["/usr/bin/apt-get"],
  choosesVersions: true,
  // Any update works in it, also one that found nothing new.
  indexFolder: "/var/lib/apt/lists/partial",
  sourcePlaces: ["/etc/apt"],
  async query(names, machine) {
    // Ends with 1 where it knows nothing of one of them.
    const { stdout } = await ask(
      { argv: ["dpkg-query", "-W", "-f", format, "--", ...names] },
      machine,
      [0, 1],
    );
    return inOrder(names, parseDpkgQuery(stdout), notInstalled);
  },
  async candidates(names, machine) {
    const argv = ["apt-cache", ...withoutCaches, "policy", "--", ...names] as const;
    const { stdout } = await ask({ argv }, machine);
    return inOrder<string | null>(names, parseAptPolicy(stdout), null);
  },
  async refresh(machine) {
    // A source that can't be reached is an error, not a warning.
    await aptGet(["-o", "APT::Update::Error-Mode=any", "update"], machine);
  },
  async install(requests, machine, { mayRemove } = { mayRemove: false }) {
    await finishInterrupted(machine);
    await refuseUnknown(requests, machine);
    const options = [...downgradeOption(requests), ...(mayRemove ? [] : ["--no-remove"])];
    await aptGet([...options, "install", "--", ...requests.map(print)], machine);
  },
  async foretellInstall(requests, machine) {
    if ((await unknownAmongOdd(requests, machine)).length > 0) return null;
    // It fails where the index does not know a version, and where the apply would fail, too.
    const { exitCode, stdout } = await ask(simulateInstall(requests, machine), machine, [0, 100]);
    if (exitCode !== 0) return null;
    const own = new Set(requests.map(({ name }) => bareName(name)));
    return parseSimulatedInstall(stdout, own);
  },
  async rehearseInstall(requests, machine) {
    const odd = await unknownAmongOdd(requests, machine);
    if (odd.length > 0) return noPackage(odd);
    const command = simulateInstall(requests, machine);
    const result = await ask(command, machine, [0, 100]);
    if (result.exitCode === 0) return null;
    const refusal = commandFailed(command, result);
    const unknown = await unknownNames(requests, machine);
    return unknown.length === 0 ? refusal : noPackage(unknown, refusal.message);
  },
  foretellRemoval,
  async installedNames(machine) {
    const argv = ["dpkg-query", "-W", "-f", "${Package}\\t${db:Status-Status}\\n"] as const;
    const { stdout } = await ask({ argv }, machine);
    const lines = stdout.split("\n").map((line) => line.split("\t"));
    return lines.flatMap(([name = "", status]) => (status === "installed" ? [name] : []));
  },
  async unused(names, machine) {
    const goes = async (...args: string[]): Promise<string[]> =>
      parseSimulatedRemoval((await ask({ argv: simulate(machine, ...args) }, machine, [0, 100])).stdout);
    const own = new Set(names.map(bareName));
    const after = (await goes("--auto-remove", "remove", "--", ...names)).filter(
      (name) => !own.has(bareName(name)),
    );
    // Each answer takes apt a second or two.
    if (after.length === 0) return [];
    const others = new Set([...(await goes("autoremove")), ...(await foretellRemoval(names, machine))]);
    return after.filter((name) => !others.has(name));
  },
  async dependencies(names, machine) {
    const { stdout } = await ask({ argv: ["apt-mark", "showauto", ...names] }, machine);
    return stdout.split("\n").filter((name) => name !== "");
  },
  async markDependencies(names, machine) {
    await act({ argv: ["apt-mark", "auto", ...names] }, machine);
  },
  async remove(names, { purge, alone }, machine) {
    await finishInterrupted(machine);
    if (alone) await refuseDependents(names, machine);
    await aptGet([purge ? "purge" : "remove", "--", ...names], machine);
  },
  async setHeld(names, held, machine) {
    await act({ argv: ["apt-mark", held ? "hold" : "unhold", "--", ...names] }, machine);
  },
};

async function aptGet(args: readonly string[], machine: PackageMachine): Promise<void> {
  // Without a terminal dpkg counts no percents.
  const options = ["-q", "-y", "-o", "Dpkg::Use-Pty=0", "-o", lockTimeout];
  for (const option of keepConfiguration) options.push("-o", `Dpkg::Options::=${option}`);
  await act({ argv: [machine.program, ...options, ...args], environment }, machine);
}

/** After a power cut apt refuses everything until dpkg has finished what it was at. */
async function finishInterrupted(machine: PackageMachine): Promise<void> {
  const { files } = machine.host;
  if (!files.stat(unfinishedFolder)) return;
  if (!files.list(unfinishedFolder).some((name) => /^\d+$/.test(name))) return;
  await act({ argv: ["dpkg", ...keepConfiguration, "--configure", "-a"], environment }, machine);
}

/** What apt may take for something else than a name: to ask takes it a second, so most names are not asked about twice. */
const isOdd = /[-+]$|[./]/;

/**
 * What is not the name of a package means something else to apt: "jq-" takes jq away, "lib.so" is a pattern for many names, and
 * what comes with a virtual name is never found again under it.
 */
async function unknownNames(requests: readonly PackageRequest[], machine: PackageMachine): Promise<string[]> {
  const argv = ["apt-cache", ...withoutCaches, "policy", "--", ...requests.map(({ name }) => name)] as const;
  const known = parseAptVersioned((await ask({ argv }, machine)).stdout);
  // The machine's own architecture is left out of the answer.
  return requests.map(({ name }) => name).filter((name) => !known.has(name) && !known.has(bareName(name)));
}

async function unknownAmongOdd(
  requests: readonly PackageRequest[],
  machine: PackageMachine,
): Promise<string[]> {
  const odd = requests.filter(({ name }) => isOdd.test(name));
  return odd.length === 0 ? [] : unknownNames(odd, machine);
}

async function refuseUnknown(requests: readonly PackageRequest[], machine: PackageMachine): Promise<void> {
  const unknown = await unknownNames(requests, machine);
  if (unknown.length > 0) throw noPackage(unknown);
}

async function refuseDependents(names: readonly string[], machine: PackageMachine): Promise<void> {
  const others = await foretellRemoval(names, machine);
  if (others.length === 0) return;
  throw new OrchestratorError("HOST_ERROR", {
    message: `Other packages need it and would go too: ${others.slice(0, 10).join(", ")}.`,
    details: { packages: others.slice(0, 10) },
  });
}

async function foretellRemoval(names: readonly string[], machine: PackageMachine): Promise<string[]> {
  // It fails where the removal itself would fail.
  const codes = [0, 100];
  const { stdout } = await ask({ argv: simulate(machine, "remove", "--", ...names) }, machine, codes);
  const own = new Set(names.map(bareName));
  return parseSimulatedRemoval(stdout).filter((name) => !own.has(bareName(name)));
}

/** A version that is asked for by name may be an older one. */
function downgradeOption(requests: readonly PackageRequest[]): string[] {
  return requests.some(({ version }) => version !== undefined) ? ["--allow-downgrades"] : [];
}

const print = ({ name, version }: PackageRequest): string =>
  version === undefined ? name : `${name}=${version}`;

/** Works out what it would do, and does nothing. */
function simulate(machine: PackageMachine, ...args: string[]): [string, ...string[]] {
  return [machine.program, ...withoutCaches, "-s", "-q", ...args];
}

function simulateInstall(requests: readonly PackageRequest[], machine: PackageMachine): HostCommand {
  return { argv: simulate(machine, ...downgradeOption(requests), "install", "--", ...requests.map(print)) };
}

/** Takes the lines of `dpkg-query -W` apart: packages by name, and by name and architecture. */
export function parseDpkgQuery(stdout: string): Map<string, PackageState> {
  const found = new Map<string, PackageState>();
  for (const line of stdout.split("\n")) {
    const [name, architecture, want, status, version] = line.split("\t");
    if (name === undefined || status === undefined || version === undefined) continue;
    const there = status === "installed" || status.startsWith("triggers-");
    const state = {
      version: there ? version : null,
      held: want === "hold",
      leftovers: !there && status !== "not-installed",
    };
    found.set(`${name}:${architecture}`, state);
    // Of one name in several architectures, one that is there counts.
    if (there || !found.has(name)) found.set(name, state);
  }
  return found;
}

/** Takes the answer of `apt-cache policy` apart: the candidate of each package it knows one for. */
export function parseAptPolicy(stdout: string): Map<string, string> {
  const found = new Map<string, string>();
  let name = "";
  for (const line of stdout.split("\n")) {
    const [, header] = /^(\S+):$/.exec(line) ?? [];
    if (header !== undefined) name = header;
    const [, candidate] = /^ {2}Candidate: (\S+)$/.exec(line) ?? [];
    if (candidate !== undefined && candidate !== "(none)") found.set(name, candidate);
  }
  return found;
}

/** The packages of which the answer of `apt-cache policy` names a version. */
export function parseAptVersioned(stdout: string): Set<string> {
  const found = new Set<string>();
  let name = "";
  for (const line of stdout.split("\n")) {
    const [, header] = /^(\S+):$/.exec(line) ?? [];
    if (header !== undefined) name = header;
    if (/^ (?:\*\*\*|   ) \S+ -?\d+$/.test(line)) found.add(name);
  }
  return found;
}

/** What `apt-get -s install` would do to others than `own`. */
export function parseSimulatedInstall(stdout: string, own: ReadonlySet<string>): SideEffects {
  const [, block = ""] = /^The following packages will be DOWNGRADED:\n((?: .*\n)*)/m.exec(stdout) ?? [];
  const older = new Set(block.split(/\s+/).filter((name) => name !== "" && !own.has(bareName(name))));
  const installs = stdout.matchAll(/^Inst (\S+) \[([^\]]+)\] \((\S+) /gm);
  return {
    removes: parseSimulatedRemoval(stdout),
    downgrades: [...installs].flatMap(([, name = "", before = "", after = ""]) =>
      older.has(name) ? [{ name, before, after }] : [],
    ),
  };
}

/** What `apt-get -s remove` would take away. */
export function parseSimulatedRemoval(stdout: string): string[] {
  return [...stdout.matchAll(/^(?:Remv|Purg) (\S+)/gm)].map(([, name = ""]) => name);
}
