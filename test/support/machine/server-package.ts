/** What `npm run build:server` made. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of it. */
export const builtServer = fileURLToPath(new URL("../../../dist/server", import.meta.url));

/** The file of a platform in that folder, e.g. of `linux-x64.deb`. */
export function serverPackage(platform: string): string {
  const { artifacts } = JSON.parse(readFileSync(join(builtServer, "manifest.json"), "utf8")) as {
    artifacts: { platform: string; file: string }[];
  };
  const found = artifacts.find((each) => each.platform === platform);
  if (!found) throw new Error(`There is no package for ${platform} in ${builtServer}.`);
  return found.file;
}
