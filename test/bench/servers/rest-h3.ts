/** REST through h3 and the Fetch API, as another runtime would serve it. */
import type { RequestListener } from "node:http";
import { toNodeHandler } from "h3/node";
import { createApp } from "../../../adapters/h3/app.ts";
import type { ServerUnderTest } from "../server-process.ts";
import { appOptions, headers, path } from "./toy.ts";

export default async function create(): Promise<ServerUnderTest> {
  return { path, headers, listener: toNodeHandler(createApp(appOptions(false)).h3) as RequestListener };
}
