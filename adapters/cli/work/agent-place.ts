/** Where an agent finds its orchestrator. */
import type { AgentOptions as ProgramOptions } from "fleetwright/agent";
import { parsedUrl } from "../../client/http.ts";
import { UsageError } from "../failure.ts";

/** What was given of it. */
export interface GivenPlace {
  url?: string | undefined;
  discover?: boolean | string | undefined;
}

/**
 * Where the orchestrator is, or that it is to announce itself.
 *
 * @param environmentUrl - The address that counts where nothing else was given.
 * @throws {UsageError} Where there is no way, two, or none that leads anywhere.
 */
export function toPlace(
  { url, discover = false }: GivenPlace,
  environmentUrl: string | undefined,
): Pick<ProgramOptions, "url" | "discover"> {
  if (discover === false) return { url: toAgentUrl(url ?? environmentUrl) };
  if (url !== undefined) throw new UsageError("--url and --discover are two ways to the same end: give one.");
  if (discover === true) return { discover };
  if (!isUdpPort(discover)) throw new UsageError("--discover takes a UDP port, 1 to 65535.");
  return { discover: { port: Number(discover) } };
}

/** Whether a text is the number of a UDP port. */
export function isUdpPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** Whether a text is the address of a server, with or without the path of agents. */
export function isServerUrl(text: string): boolean {
  return /^(ws|http)s?:$/.test(parsedUrl(text)?.protocol ?? "");
}

/** The address of the server will do: the protocol and the path of agents are added. */
function toAgentUrl(text: string | undefined): string {
  if (text === undefined) throw new UsageError("--url or --discover is missing: where is the orchestrator?");
  if (!isServerUrl(text)) {
    throw new UsageError(`${JSON.stringify(text)} is no ws, wss, http or https address.`);
  }
  const url = new URL(text);
  const path = url.pathname === "/" ? "/agent/v1" : url.pathname;
  return `${url.protocol.replace("http", "ws")}//${url.host}${path}`;
}
