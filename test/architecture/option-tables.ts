/** Every interface of options, and the table that it is checked against. */
import type { OptionTable } from "fleetwright/options";
import { appOptions, listenAppOptions, orchestratorAppOptions } from "../../adapters/h3/option-table.ts";
import { serverOptions } from "../../adapters/h3/server.ts";
import { agentOptions } from "../../lib/agent/agent-options.ts";
import { keptResultsOptions } from "../../lib/agent/kept-results.ts";
import { orchestratorOptions } from "../../lib/options.ts";
import { fileStorageOptions } from "../../lib/storage/file/file-storage-options.ts";
import { memoryStorageOptions } from "../../lib/storage/memory-storage.ts";
import { socketTransportOptions } from "../../lib/transport/socket-transport.ts";

export { orchestratorOptionTable } from "../../lib/option-table.ts";
export { orchestratorOptions };

/** Where options are documented, and what they are checked against. */
export interface DocumentedOptions {
  file: string;
  name: string;
  table: OptionTable<Record<string, unknown>>;
  /** Interfaces that it takes options from. */
  bases: readonly (readonly [file: string, name: string])[];
}

const [app, limits] = [
  ["adapters/h3/app.ts", "AppOptions"],
  ["adapters/h3/sockets.ts", "SocketLimits"],
] as const;
const orchestrator = ["lib/options.ts", "OrchestratorOptions"] as const;

export const optionInterfaces: DocumentedOptions[] = [
  documented(orchestrator, orchestratorOptions),
  documented(["lib/agent/agent-options.ts", "AgentOptions"], agentOptions),
  documented(["lib/agent/kept-results.ts", "KeptResultsLimits"], keptResultsOptions),
  documented(["lib/storage/file/file-storage-options.ts", "FileStorageOptions"], fileStorageOptions),
  documented(["lib/storage/memory-storage.ts", "MemoryStorageOptions"], memoryStorageOptions),
  documented(["lib/transport/socket-transport.ts", "SocketTransportOptions"], socketTransportOptions),
  documented(["adapters/h3/serve.ts", "ListenAppOptions"], listenAppOptions),
  documented(app, appOptions, [limits]),
  documented(["adapters/h3/orchestrator-app.ts", "OrchestratorAppOptions"], orchestratorAppOptions, [
    app,
    limits,
  ]),
  documented(["adapters/h3/server.ts", "ServerOptions"], serverOptions, [orchestrator]),
];

function documented<Options>(
  [file, name]: readonly [string, string],
  table: OptionTable<Options>,
  bases: DocumentedOptions["bases"] = [],
): DocumentedOptions {
  return { file, name, table: table as OptionTable<Record<string, unknown>>, bases };
}
