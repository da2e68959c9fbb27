/** Debian and its kin: dpkg knows what is there, apt fetches. */
import { OrchestratorError } from "../../../errors.ts";
import { act, ask } from "../shared/command.ts";
import {
  inOrder,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
  type PackageState,
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
  async install(requests, machine) {
    await finishInterrupted(machine);
    const wanted = requests.map(({ name, version }) => (version === undefined ? name : `${name}=${version}`));
    // A version that is asked for by name may be an older one.
    const older = requests.some(({ version }) => version !== undefined) ? ["--allow-downgrades"] : [];
    await aptGet([...older, "install", "--", ...wanted], machine);
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

async function refuseDependents(names: readonly string[], machine: PackageMachine): Promise<void> {
  const { stdout } = await ask(
    { argv: [machine.program, ...withoutCaches, "-s", "-q", "remove", "--", ...names] },
    machine,
  );
  const own = new Set(names.map(bareName));
  const others = parseSimulatedRemoval(stdout).filter((name) => !own.has(bareName(name)));
  if (others.length === 0) return;
  throw new OrchestratorError("HOST_ERROR", {
    message: `Other packages need it and would go too: ${others.slice(0, 10).join(", ")}.`,
    details: { packages: others.slice(0, 10) },
  });
}

const bareName = (name: string): string => name.split(":")[0] ?? name;

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

/** What `apt-get -s remove` would take away. */
export function parseSimulatedRemoval(stdout: string): string[] {
  return [...stdout.matchAll(/^(?:Remv|Purg) (\S+)/gm)].map(([, name = ""]) => name);
}
