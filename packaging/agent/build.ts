/**
 * `npm run build:agent`: the agent for machines that have no checkout, into `dist/agent`. What can't be built here is said in a line, and
 * the rest is built. Names of platforms as arguments build these alone, and leave what there is of the others:
 * `npm run build:agent -- linux-x64`.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { agentPlatforms, buildAgent } from "./build-agent.ts";
import { repository } from "./tools.ts";

const wanted = process.argv.slice(2);
const unknown = wanted.filter((each) => !agentPlatforms.includes(each));
if (unknown.length > 0) {
  console.error(`There is no platform ${unknown.join(", ")}; there are ${agentPlatforms.join(", ")}.`);
  process.exit(2);
}
const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as { version: string };
const place = join(repository, "dist/agent");
await buildAgent({ wanted, version, place, tell: (line) => console.log(line) });
