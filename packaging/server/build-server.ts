/** Builds the server for machines that have no checkout. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Artifacts } from "../artifacts.ts";
import { architectures } from "../node.ts";
import { packServerDeb, packServerRpm } from "./packages.ts";
import { fillProgram, type BuildParts } from "./program-folder.ts";

/** All that can be built: a deb and an rpm for each kind of Linux. */
export const serverPlatforms: readonly string[] = architectures.map((each) => `linux-${each}`);

/** What to build. */
export interface BuildOptions {
  /** Of {@link serverPlatforms}; none: all. What else was built before stays. */
  wanted: readonly string[];
  version: string;
  /** Where the packages are when they are built; parts are kept beside it. */
  place: string;
  /** What `npm run build:agent` made. */
  agents: string;
  tell(line: string): void;
}

/** Builds. What can't be built here is said in a line, and the rest is built. */
export async function buildServer({ wanted, version, place, agents, tell }: BuildOptions): Promise<void> {
  const isWanted = (platform: string): boolean => wanted.length === 0 || wanted.includes(platform);
  const cache = `${place}-parts`;
  mkdirSync(cache, { recursive: true });
  const artifacts = new Artifacts(place, version, tell);
  artifacts.keep((platform) => isWanted(platform.replace(/\.(?:deb|rpm)$/, "")));
  const parts: BuildParts = { version, cache, target: artifacts.target, agents };
  for (const architecture of architectures) {
    const platform = `linux-${architecture}`;
    if (!isWanted(platform)) continue;
    const folder = join(cache, platform);
    const filled = (): string => {
      rmSync(folder, { recursive: true, force: true });
      fillProgram(folder, architecture, parts);
      return folder;
    };
    await artifacts.make(`${platform}.deb`, () => packServerDeb(filled(), architecture, parts));
    await artifacts.make(`${platform}.rpm`, () => packServerRpm(filled(), architecture, parts));
  }
  artifacts.finish();
}
