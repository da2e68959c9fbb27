/** The agent: `fleetwright/agent`. */
export { Agent, createAgent } from "./agent.ts";
export type { AgentOptions, Dial } from "./agent-options.ts";
export { agentVersion } from "./agent-version.ts";
