/** The first 100 of 10,000 agents that pass every filter. */
import type { ServerUnderTest } from "../server-process.ts";
import { createFleetServer } from "./fleet.ts";

export default async function create(): Promise<ServerUnderTest> {
  const selector = encodeURIComponent("role=web,env=production");
  return createFleetServer(`/api/v1/agents?limit=100&status=approved&search=web&selector=${selector}`);
}
