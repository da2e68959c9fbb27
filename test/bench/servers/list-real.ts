/** The first 100 of 10,000 agents, from the product. */
import type { ServerUnderTest } from "../server-process.ts";
import { createFleetServer } from "./fleet.ts";

export default async function create(): Promise<ServerUnderTest> {
  return createFleetServer("/api/v1/agents?limit=100");
}
