/** REST as the server serves it. */
import { createApp } from "../../../adapters/h3/app.ts";
import type { ServerUnderTest } from "../server-process.ts";
import { appOptions, headers, path } from "./toy.ts";

export default async function create(): Promise<ServerUnderTest> {
  return { path, headers, listener: createApp(appOptions(false)).listener };
}
