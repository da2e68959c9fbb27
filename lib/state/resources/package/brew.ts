/** Homebrew. It refuses root, so its programs run as the user that it belongs to. */
import { z } from "zod";
import { OrchestratorError } from "../../../errors.ts";
import type { HostCommand } from "../../../host/host.ts";
import { act, ask } from "../shared/command.ts";
import {
  inOrder,
  installedState,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
  type PackageState,
} from "./provider.ts";

const infoSchema = z.object({
  formulae: z.array(
    z.object({
      name: z.string(),
      full_name: z.string(),
      aliases: z.array(z.string()),
      versions: z.object({ stable: z.string().nullable() }),
      revision: z.number(),
      pinned: z.boolean(),
      installed: z.array(z.object({ version: z.string() })),
    }),
  ),
  casks: z.array(
    z.object({
      token: z.string(),
      full_token: z.string(),
      version: z.string(),
      installed: z.string().nullable(),
    }),
  ),
});

/** What `brew info` says of one package. */
export interface BrewPackage {
  state: PackageState;
  candidate: string | null;
}

export const brewProvider: PackageProvider = {
  programs: ["/opt/homebrew/bin/brew", "/usr/local/bin/brew", "/home/linuxbrew/.linuxbrew/bin/brew"],
  choosesVersions: false,
  sourcePlaces: [],
  async query(names, machine) {
    const found = await info(names, machine);
    return inOrder(names, new Map([...found].map(([name, { state }]) => [name, state])), notInstalled);
  },
  async candidates(names, machine) {
    const found = await info(names, machine);
    return names.map((name) => found.get(name)?.candidate ?? null);
  },
  async refresh(machine) {
    await act(brew(["update", "--quiet"], machine), machine);
  },
  async install(requests, machine) {
    for (const installed of [false, true]) {
      const names = requests.filter((request) => request.installed === installed).map(({ name }) => name);
      if (names.length > 0)
        await act(brew([installed ? "upgrade" : "install", "--", ...names], machine), machine);
    }
  },
  async remove(names, { purge }, machine) {
    const options = purge ? ["--zap"] : [];
    await act(brew(["uninstall", ...options, "--", ...names], machine), machine);
  },
  async setHeld(names, held, machine) {
    await act(brew([held ? "pin" : "unpin", "--", ...names], machine), machine);
  },
};

async function info(names: readonly string[], machine: PackageMachine): Promise<Map<string, BrewPackage>> {
  const { stdout } = await ask(brew(["info", "--json=v2", "--", ...names], machine), machine);
  return parseBrewInfo(stdout);
}

function brew(args: readonly string[], { host, program }: PackageMachine): HostCommand {
  const uid = host.files.stat(program)?.uid ?? 0;
  const user = uid === 0 ? null : host.users.userName(uid);
  const environment = { HOMEBREW_NO_AUTO_UPDATE: "1", HOMEBREW_NO_ENV_HINTS: "1", NONINTERACTIVE: "1" };
  return { argv: [program, ...args], environment, ...(user !== null && { user }) };
}

/** Takes the answer of `brew info --json=v2` apart: formulae and casks by each of their names. */
export function parseBrewInfo(stdout: string): Map<string, BrewPackage> {
  const { formulae, casks } = readInfo(stdout);
  const found = new Map<string, BrewPackage>();
  for (const { name, full_name, aliases, versions, revision, pinned, installed } of formulae) {
    const version = installed.at(-1)?.version;
    const state = version === undefined ? notInstalled : installedState(version, pinned);
    const { stable } = versions;
    const candidate = stable !== null && revision > 0 ? `${stable}_${revision}` : stable;
    for (const each of [name, full_name, ...aliases]) found.set(each, { state, candidate });
  }
  for (const { token, full_token, version, installed } of casks) {
    const state = installed === null ? notInstalled : installedState(installed);
    for (const each of [token, full_token])
      if (!found.has(each)) found.set(each, { state, candidate: version });
  }
  return found;
}

function readInfo(stdout: string): z.infer<typeof infoSchema> {
  try {
    return infoSchema.parse(JSON.parse(stdout));
  } catch (cause) {
    throw new OrchestratorError("HOST_ERROR", { message: "The answer of brew info can't be read.", cause });
  }
}
