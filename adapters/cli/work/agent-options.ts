import type { LogLevel } from "../log-level.ts";
import type { TokenOptions } from "./agent-token.ts";

/** Options of `fleetwright agent`. */
export interface AgentOptions extends TokenOptions {
  config?: string;
  discover?: boolean | string;
  orchestratorKey?: string;
  caFile?: string;
  stateDir?: string;
  root?: string;
  commands?: boolean;
  terminals?: boolean;
  terminalUser?: string;
  terminalShell?: string;
  logLevel?: LogLevel;
}
