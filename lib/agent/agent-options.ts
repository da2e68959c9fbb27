import type { Clock } from "../clock.ts";
import type { Crypto } from "../crypto/crypto.ts";
import type { Host } from "../host/host.ts";
import type { Logger } from "../logger.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { FrameSocket } from "../transport/socket.ts";
import { OrchestratorError } from "../errors.ts";
import type { KeptResultsLimits } from "./kept-results.ts";
import { type WebSocketDialOptions, dialWebSocket } from "./websocket-dial.ts";

/** Makes a connection to the orchestrator; rejects when the signal aborts. */
export type Dial = (signal: AbortSignal) => Promise<FrameSocket>;

/** How an agent is set up. One of `url` and `dial` is needed. */
export interface AgentOptions {
  /** Where the orchestrator listens, e.g. `wss://orchestrator.example:4100/agent/v1`. */
  url?: string;
  /** How a `wss` URL is dialled. */
  tls?: Pick<WebSocketDialOptions, "ca" | "allowUntrustedCertificate">;
  /** Makes connections in place of `url`; called again after each that ended. */
  dial?: Dial;
  /** Folder of the agent alone: its keys, its journal, what it applied. Made with mode 0700 where it is not there. */
  stateDir: string;
  /** Folder that stands for `/` in everything that resources do to files. Default: the whole machine. */
  root?: string;
  /** The orchestrator's public key, 64 hex digits. Default: the first one that answers is pinned, for good. */
  orchestratorKey?: string;
  /**
   * How much is kept of results that the orchestrator has acknowledged, for one that is restored from a backup and asks for them.
   * Default: 100 results, 16 MiB, 24 hours.
   */
  keptResults?: KeptResultsLimits;
  /** Default: this machine, confined to `root`. */
  host?: Host;
  /** Types of resources to know. Default: all that ship with the package. */
  types?: ResourceTypes;
  /** Default: the process's clock; the agent then keeps the process alive until it is stopped. */
  clock?: Clock;
  /** Default: `node:crypto`. */
  crypto?: Crypto;
  /** Default: nothing is logged. */
  logger?: Logger;
}

/**
 * What makes the connections of an agent.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` without exactly one of `url` and `dial`.
 */
export function dialOf({ url, dial, tls }: AgentOptions): Dial {
  if (dial && url === undefined) return dial;
  if (url === undefined || dial) {
    throw new OrchestratorError("CONFIGURATION_INVALID", {
      message: "An agent needs a url or a dial, and not both.",
    });
  }
  return (signal) => dialWebSocket(url, { ...tls, signal });
}
