/** Builds the agent for machines that have no checkout. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Artifacts } from "../artifacts.ts";
import { architectures } from "../node.ts";
import { packArchive } from "../packages.ts";
import { bundleAgent } from "./bundle.ts";
import { packAgentDeb, packAgentRpm } from "./packages.ts";
import { fillWithExecutable, fillWithScript, type BuildParts } from "./version-folder.ts";

/** All that can be built. A deb and an rpm come with each kind of Linux. */
export const agentPlatforms: readonly string[] = ["node", ...architectures.map((each) => `linux-${each}`)];

/** What to build. */
export interface BuildOptions {
  /** Of {@link agentPlatforms}; none: all. What else was built before stays. */
  wanted: readonly string[];
  version: string;
  /** Where the artifacts are when they are built; parts are kept beside it. */
  place: string;
  tell(line: string): void;
}

/** Builds. What can't be built here is said in a line, and the rest is built. */
export async function buildAgent({ wanted, version, place, tell }: BuildOptions): Promise<void> {
  const isWanted = (platform: string): boolean => wanted.length === 0 || wanted.includes(platform);
  const cache = `${place}-parts`;
  mkdirSync(cache, { recursive: true });
  const artifacts = new Artifacts(place, version, tell);
  const { target } = artifacts;
  artifacts.keep((platform) => isWanted(platform.replace(/\.(?:deb|rpm)$/, "")));
  const parts: BuildParts = {
    version,
    cache,
    target,
    ...(await bundleAgent({ script: target, program: cache })),
  };
  const archiveOf = (platform: string, fill: (folder: string) => void): Promise<boolean> =>
    artifacts.make(platform, () => {
      const folder = join(cache, platform);
      rmSync(folder, { recursive: true, force: true });
      fill(folder);
      const archive = join(target, `fleetwright-agent-${version}-${platform}.tar.gz`);
      packArchive(folder, archive);
      return archive;
    });
  if (isWanted("node")) await archiveOf("node", (folder) => fillWithScript(folder, architectures, parts));
  for (const architecture of architectures) {
    const platform = `linux-${architecture}`;
    if (!isWanted(platform)) continue;
    const isThere = await archiveOf(platform, (folder) => fillWithExecutable(folder, architecture, parts));
    if (!isThere) continue;
    const folder = join(cache, platform);
    await artifacts.make(`${platform}.deb`, () => packAgentDeb(folder, architecture, parts));
    await artifacts.make(`${platform}.rpm`, () => packAgentRpm(folder, architecture, parts));
  }
  artifacts.finish();
}
