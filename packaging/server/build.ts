/**
 * `npm run build:server`: the server for machines that have no checkout, into `dist/server`, with the agents of `npm run build:agent`. What
 * can't be built here is said in a line, and the rest is built. Names of platforms as arguments build these alone, and leave what there is of
 * the others: `npm run build:server -- linux-x64`.
 */
import { join } from "node:path";
import { builtVersion, wantedOf } from "../arguments.ts";
import { repository } from "../tools.ts";
import { buildServer, serverPlatforms } from "./build-server.ts";

const wanted = wantedOf(serverPlatforms);
const place = join(repository, "dist/server");
const agents = join(repository, "dist/agent");
await buildServer({ wanted, version: builtVersion(), place, agents, tell: (line) => console.log(line) });
