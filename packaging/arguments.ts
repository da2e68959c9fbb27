/** What the commands that build are told: the platforms to build, and the version that the package has. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./tools.ts";

/**
 * Reads the platforms that the arguments of the process name; none stands for all. Ends the process where one is unknown.
 *
 * @param platforms - All that there are.
 */
export function wantedOf(platforms: readonly string[]): string[] {
  const wanted = process.argv.slice(2);
  const unknown = wanted.filter((each) => !platforms.includes(each));
  if (unknown.length > 0) {
    console.error(`There is no platform ${unknown.join(", ")}; there are ${platforms.join(", ")}.`);
    process.exit(2);
  }
  return wanted;
}

/** The version in `package.json`. */
export function builtVersion(): string {
  const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
    version: string;
  };
  return version;
}
