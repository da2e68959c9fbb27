/** Tests that change the machine they run on: only where they are asked for, and where it has what they need. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, vi } from "vitest";

/** What such a test needs. */
export interface RealMachineNeeds {
  /** Programs by name. */
  programs?: readonly string[];
  /** Paths. */
  paths?: readonly string[];
  /** Makes mounts and groups of processes of its own. */
  namespaces?: boolean;
}

/** Declares tests that change this machine; where they can't be run the reason is printed and they are skipped. */
export function describeOnRealMachine(name: string, needs: RealMachineNeeds, tests: () => void): void {
  const reason = whyNot(needs);
  if (reason !== null) console.warn(`Skipped: ${name}: ${reason}.`);
  // Package managers take seconds for a word.
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });
  describe.skipIf(reason !== null)(`${name}, for real`, () => {
    tests();
  });
}

function whyNot({ programs = [], paths = [], namespaces = false }: RealMachineNeeds): string | null {
  if (process.env["FLEETWRIGHT_REAL_MACHINE"] !== "1")
    return "it changes the machine; set FLEETWRIGHT_REAL_MACHINE=1 to allow that";
  if (process.getuid?.() !== 0) return "it must be root";
  const missing = programs.find((program) => spawnSync("which", [program]).status !== 0);
  if (missing !== undefined) return `there is no program ${missing}`;
  const path = paths.find((each) => !existsSync(each));
  if (path !== undefined) return `there is no ${path}`;
  return namespaces ? whyNoNamespaces() : null;
}

/** A machine may be a container itself, where this is not allowed. */
function whyNoNamespaces(): string | null {
  const mounts = [
    "mount -t tmpfs tmpfs /mnt",
    "mkdir /mnt/upper /mnt/work /mnt/root /mnt/groups",
    "mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root",
    "mount -t cgroup2 cgroup2 /mnt/groups",
    "mount -t proc proc /mnt/root/proc",
  ];
  const kinds = ["--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--fork"];
  const { status, stderr } = spawnSync("unshare", [...kinds, "sh", "-c", mounts.join(" && ")], {
    encoding: "utf8",
  });
  return status === 0 ? null : `namespaces can't be made here: ${stderr.trim()}`;
}

/** What a program prints, asked past our own code; an error where it fails. */
export function output(program: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" },
  });
  if (status === 0) return stdout;
  throw new Error(`${program} ${args.join(" ")}: ${error?.message ?? stderr}`);
}

/** The exit code of a program, asked past our own code. */
export function exitCode(program: string, ...args: string[]): number | null {
  return spawnSync(program, args, { env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" } }).status;
}
