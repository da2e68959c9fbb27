/**
 * `npm run build:agent`: the agent for machines that have no checkout, into `dist/agent`. What can't be built here is said in a line, and
 * the rest is built. Names of platforms as arguments build these alone, and leave what there is of the others:
 * `npm run build:agent -- linux-x64`.
 */
import { join } from "node:path";
import { builtVersion, wantedOf } from "../arguments.ts";
import { repository } from "../tools.ts";
import { agentPlatforms, buildAgent } from "./build-agent.ts";

const wanted = wantedOf(agentPlatforms);
const place = join(repository, "dist/agent");
await buildAgent({ wanted, version: builtVersion(), place, tell: (line) => console.log(line) });
