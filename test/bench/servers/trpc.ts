/** The same procedure over /trpc. */
import { createApp } from "../../../adapters/h3/app.ts";
import type { ServerUnderTest } from "../server-process.ts";
import { agent, appOptions, headers } from "./toy.ts";

export default async function create(): Promise<ServerUnderTest> {
  const input = encodeURIComponent(JSON.stringify({ node_id: agent.node_id }));
  return { path: `/trpc/get?input=${input}`, headers, listener: createApp(appOptions(false)).listener };
}
