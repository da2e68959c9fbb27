/** The folder of the program as it stands on a machine: Node, the build, the packages it loads, and the agents that it brings onto others. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchNode, type Architecture } from "../node.ts";
import { repository } from "../tools.ts";
import { copyProgram, placeDependencies } from "./dependencies.ts";

/** What is built of, and where to. */
export interface BuildParts {
  version: string;
  /** Folder for what is brought and made on the way. */
  cache: string;
  /** Folder of the packages. */
  target: string;
  /** What `npm run build:agent` made. */
  agents: string;
}

/** The list of the agents. */
interface AgentManifest {
  version: string;
  artifacts: { platform: string; file: string }[];
}

/** Fills a folder. */
export function fillProgram(folder: string, architecture: Architecture, parts: BuildParts): void {
  const { version, artifacts } = agentsOf(parts);
  const node = fetchNode(architecture, parts.cache);
  mkdirSync(join(folder, "bin"), { recursive: true });
  copyFileSync(join(node, "bin/node"), join(folder, "bin/node"));
  copyFileSync(join(node, "LICENSE"), join(folder, "LICENSE-NODE"));
  for (const file of ["package.json", "LICENSE-MIT", "LICENSE-APACHE"])
    copyFileSync(join(repository, file), join(folder, file));
  mkdirSync(join(folder, "adapters/cli"), { recursive: true });
  copyFileSync(join(repository, "adapters/cli/fleetwright.js"), join(folder, "adapters/cli/fleetwright.js"));
  copyProgram(join(repository, "dist/program"), join(folder, "dist/program"));
  placeDependencies(folder, architecture, parts.cache);
  const place = join(folder, "dist/agent");
  mkdirSync(place);
  for (const { file } of artifacts) copyFileSync(join(parts.agents, file), join(place, file));
  writeFileSync(join(place, "manifest.json"), `${JSON.stringify({ version, artifacts }, null, 2)}\n`);
}

/**
 * The agents that go with the server: the archives of `install.sh`. The agent's own packages have the same program once more, and are left out.
 *
 * @throws {Error} Where there are none of this version.
 */
function agentsOf({ agents, version }: BuildParts): AgentManifest {
  const path = join(agents, "manifest.json");
  const found = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as AgentManifest) : undefined;
  if (found?.version !== version)
    throw new Error(
      `There is no agent of version ${version} in ${agents}: run \`npm run build:agent\` first.`,
    );
  return { version, artifacts: found.artifacts.filter(({ platform }) => !/\.(?:deb|rpm)$/.test(platform)) };
}
