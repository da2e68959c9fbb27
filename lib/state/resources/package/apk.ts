/** Alpine. */
import { act, ask } from "../shared/command.ts";
import {
  inOrder,
  installedState,
  notInstalled,
  type PackageProvider,
  type PackageRequest,
} from "./provider.ts";

/** Waits for another package manager to finish, seconds. */
const wait = ["--wait", "300"];

export const apkProvider: PackageProvider = {
  programs: ["/sbin/apk", "/usr/bin/apk"],
  choosesVersions: true,
  sourcePlaces: ["/etc/apk"],
  indexFolder: "/var/cache/apk",
  async query(names, machine) {
    const { stdout } = await ask({ argv: [machine.program, "info", "-v"] }, machine);
    const states = [...parseApkList(stdout)].map(
      ([name, version]) => [name, installedState(version)] as const,
    );
    return inOrder(names, new Map(states), notInstalled);
  },
  async candidates(names, machine) {
    const { stdout } = await ask({ argv: [machine.program, "search", "--exact", "--", ...names] }, machine);
    return inOrder<string | null>(names, parseApkList(stdout), null);
  },
  async refresh(machine) {
    await act({ argv: [machine.program, ...wait, "update"] }, machine);
  },
  async install(requests, machine) {
    await act({ argv: [machine.program, ...wait, "add", "--", ...requests.map(constraint)] }, machine);
  },
  async remove(names, { purge }, machine) {
    const options = purge ? ["--purge"] : [];
    await act({ argv: [machine.program, ...wait, "del", ...options, "--", ...names] }, machine);
  },
};

/** `=` is one version, `~` every version that begins so; one that is there is upgraded only when told which. */
function constraint({ name, version }: PackageRequest): string {
  if (version === undefined) return name;
  return version.endsWith("*")
    ? `${name}~${version.slice(0, -1).replace(/[.-]$/, "")}`
    : `${name}=${version}`;
}

/** Takes lines like `musl-1.2.4_git20230717-r4` apart, as `apk info -v` and `apk search` print them. */
export function parseApkList(stdout: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of stdout.split("\n")) {
    const [, name, version] = /^(\S+?)-(\d[^\s-]*-r\d+)$/.exec(line.trim()) ?? [];
    if (name !== undefined && version !== undefined) found.set(name, version);
  }
  return found;
}
