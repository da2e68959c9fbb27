/** Arch. Its archive has one version of each package, so there is none to choose. */
import { OrchestratorError } from "../../../errors.ts";
import { ask, attempt, commandFailed } from "../shared/command.ts";
import { removeStaleLocks } from "../shared/stale-locks.ts";
import {
  inOrder,
  installedState,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
} from "./provider.ts";

/** A file that stands while a pacman changes something, and after a power loss for ever. */
const lock = { cwd: "/var/lib/pacman", within: "db.lck", name: "db.lck" } as const;

/** Runs a pacman that changes something. Any of `codes` is good; default 0 alone. */
async function change(args: readonly string[], machine: PackageMachine, codes: readonly number[] = [0]) {
  await removeStaleLocks(lock, machine);
  return attempt({ argv: [machine.program, ...args] }, machine, codes);
}

export const pacmanProvider: PackageProvider = {
  programs: ["/usr/bin/pacman"],
  choosesVersions: false,
  sourcePlaces: ["/etc/pacman.conf", "/etc/pacman.d"],
  indexFolder: "/var/lib/pacman/sync",
  async query(names, machine) {
    // Ends with 1 where one of them is not there.
    const { stdout } = await ask({ argv: [machine.program, "-Q", "--", ...names] }, machine, [0, 1]);
    const states = [...parsePacmanQuery(stdout)].map(
      ([name, version]) => [name, installedState(version)] as const,
    );
    return inOrder(names, new Map(states), notInstalled);
  },
  async candidates(names, machine) {
    // Ends with the number of those that it does not know.
    const codes = Array.from({ length: names.length + 1 }, (_, code) => code);
    const { stdout } = await ask({ argv: [machine.program, "-Si", "--", ...names] }, machine, codes);
    return inOrder<string | null>(names, parsePacmanInfo(stdout), null);
  },
  async refresh(machine) {
    await change(["-Sy", "--noconfirm"], machine);
  },
  async install(requests, machine) {
    const names = requests.map(({ name }) => name);
    await change(["-S", "--noconfirm", "--needed", "--", ...names], machine);
  },
  // What is in the way of an installation makes it fail, and so does who needs what is to be removed.
  async installedNames(machine) {
    const { stdout } = await ask({ argv: [machine.program, "-Qq"] }, machine, [0, 1]);
    return stdout.split("\n").filter((name) => name !== "");
  },
  async unused(names, machine) {
    const argv = [machine.program, "-Rs", "--print", "--print-format", "%n", "--", ...names] as const;
    const { stdout } = await ask({ argv }, machine, [0, 1]);
    const own = new Set(names);
    return stdout.split("\n").filter((name) => /^[a-z0-9@._+-]+$/.test(name) && !own.has(name));
  },
  async dependencies(names, machine) {
    // Ends with 1 where one of them is none, or is not there.
    const { stdout } = await ask({ argv: [machine.program, "-Qqd", "--", ...names] }, machine, [0, 1]);
    return stdout.split("\n").filter((name) => name !== "");
  },
  async markDependencies(names, machine) {
    await change(["-D", "--asdeps", "--", ...names], machine);
  },
  async remove(names, { purge }, machine) {
    const args = [purge ? "-Rn" : "-R", "--noconfirm", "--", ...names];
    const result = await change(args, machine, [0, 1]);
    if (result.exitCode === 0) return;
    // Why it does not, it says on standard output.
    const others = parseDependents(result.stdout).slice(0, 10);
    if (others.length === 0) throw commandFailed({ argv: [machine.program, ...args] }, result);
    const message = `Other packages need it: ${others.join(", ")}.`;
    throw new OrchestratorError("HOST_ERROR", { message, details: { packages: others } });
  },
};

/** Who needs what pacman did not remove. */
export function parseDependents(stdout: string): string[] {
  const found = stdout.matchAll(/^:: removing \S+ breaks dependency '[^']+' required by (\S+)$/gm);
  return [...new Set([...found].map(([, name = ""]) => name))];
}

/** Takes the lines of `pacman -Q` apart. */
export function parsePacmanQuery(stdout: string): Map<string, string> {
  return new Map(
    [...stdout.matchAll(/^(\S+) (\S+)$/gm)].map(([, name = "", version = ""]) => [name, version]),
  );
}

/** Takes the answer of `pacman -Si` apart: the first of several repositories is the one that is used. */
export function parsePacmanInfo(stdout: string): Map<string, string> {
  const found = new Map<string, string>();
  let name = "";
  for (const line of stdout.split("\n")) {
    const [, field, value = ""] = /^(Name|Version)\s*: (\S+)$/.exec(line) ?? [];
    if (field === "Name") name = value;
    else if (field === "Version" && !found.has(name)) found.set(name, value);
  }
  return found;
}
