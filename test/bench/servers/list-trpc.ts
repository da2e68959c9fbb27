/** The first 100 of 10,000 agents, from the product over tRPC. */
import type { ServerUnderTest } from "../server-process.ts";
import { createFleetServer } from "./fleet.ts";

export default async function create(): Promise<ServerUnderTest> {
  return createFleetServer(`/trpc/agents.list?input=${encodeURIComponent(JSON.stringify({ limit: 100 }))}`);
}
