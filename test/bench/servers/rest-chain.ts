/** REST with every call through tRPC's own chain. */
import { createApp } from "../../../adapters/h3/app.ts";
import type { ServerUnderTest } from "../server-process.ts";
import { appOptions, headers, path } from "./toy.ts";

export default async function create(): Promise<ServerUnderTest> {
  return { path, headers, listener: createApp(appOptions(true)).listener };
}
