/** The agent: `fleetwright/agent`. */
export { AgentProgram, createAgent } from "./agent.ts";
export type { AgentOptions, Dial } from "./agent-options.ts";
export type { KeptResultsLimits } from "./kept-results.ts";
export type { MeasuredMachine, Space } from "./metrics/measured-machine.ts";
export type { TerminalSetup } from "./terminal/terminal-setup.ts";
export type { WebSocketDialOptions } from "./websocket-dial.ts";
export { version as agentVersion } from "../version.ts";
