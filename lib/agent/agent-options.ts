import type { Clock } from "../clock.ts";
import type { Crypto } from "../crypto/crypto.ts";
import type { Issue } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { checkOptions, optionsOf, type OptionTable } from "../internal/check-options.ts";
import {
  aMap,
  aFunction,
  falseOr,
  fault,
  partWith,
  plainText,
  trueOrFalse,
  wholeNumber,
  type OptionRule,
} from "../internal/option-rules.ts";
import type { Logger } from "../logger.ts";
import { clockRule, cryptoRule, loggerRule } from "../part-rules.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { FrameSocket } from "../transport/socket.ts";
import { type KeptResultsLimits, keptResultsOptions } from "./kept-results.ts";
import { LocalMachine } from "./metrics/local-machine.ts";
import type { MeasuredMachine } from "./metrics/measured-machine.ts";
import type { TerminalSetup } from "./terminal/terminal-setup.ts";
import { type WebSocketDialOptions, dialWebSocket } from "./websocket-dial.ts";

/** Makes a connection to the orchestrator; rejects when the signal aborts. */
export type Dial = (signal: AbortSignal) => Promise<FrameSocket>;

/**
 * How an agent is set up. One of `url`, `discover` and `dial` is needed. What is not of this form, and an option that is not known, is refused when
 * the agent is made, all at once: `OPTIONS_INVALID`.
 */
export interface AgentOptions {
  /** Where the orchestrator listens, a ws or wss address, e.g. `wss://orchestrator.example:4100/agent/v1`. */
  url?: string;
  /**
   * In place of `url`: waits for an orchestrator that announces itself in the local network (`fleetwright discover`), and connects to it;
   * at another UDP port than 4747 where a port is given. Give `orchestratorKey`, too, unless everybody in that network may be trusted: the first
   * that announces itself is pinned, for good.
   */
  discover?: boolean | { port: number };
  /** How a `wss` URL is dialled. */
  tls?: Pick<WebSocketDialOptions, "ca" | "allowUntrustedCertificate">;
  /** Makes connections in place of `url`; called again after each that ended. */
  dial?: Dial;
  /** Folder of the agent alone: its keys, its journal, what it applied. Made with mode 0700 where it is not there. 1 or more characters. */
  stateDir: string;
  /** Folder that stands for `/` in everything that resources do to files, 1 or more characters. Default the whole machine. */
  root?: string;
  /** The orchestrator's public key, hex or base64. Default the first one that answers is pinned, for good. */
  orchestratorKey?: string;
  /**
   * What stands in for an operator's approval, from `fleetwright enrol token`, 1-256 characters without blanks; a secret. It is sent to the
   * orchestrator with `orchestratorKey` alone, which it needs, until the agent is approved. Default none: an operator approves the agent.
   */
  enrolmentToken?: string;
  /**
   * How much is kept of results that the orchestrator has acknowledged, for one that is restored from a backup and asks for them.
   * Default 100 results, 16 MiB, 24 hours.
   */
  keptResults?: KeptResultsLimits;
  /**
   * Whether operators may open terminals on this machine, and as which user with which shell; false: nobody may, whatever the orchestrator
   * says. Default they may, as the user of the agent, with that one's shell.
   */
  terminals?: TerminalSetup | false;
  /** Whether operators may run commands on this machine (`fleetwright run`); false: nobody may, whatever the orchestrator says. Default true. */
  commands?: boolean;
  /** What resources act on. Default this machine, confined to `root`. */
  host?: Host;
  /** What metrics are read from. Default this machine; nothing is measured where `host` stands for another. */
  measured?: MeasuredMachine;
  /** Types of resources to know; `resourceTypesWith` of `fleetwright/ports` puts your own beside the others. Default all that ship with the package. */
  types?: ResourceTypes;
  /** Time. Default the process's clock; the agent then keeps the process alive until it is stopped. */
  clock?: Clock;
  /** Cryptography. Default `node:crypto`. */
  crypto?: Crypto;
  /** Where the agent reports what goes on inside. Default nowhere. */
  logger?: Logger;
}

const folder = plainText({ pattern: /./, range: "1 or more characters" });

const discoverPort: OptionRule = optionsOf<{ port: number }>({
  port: { rule: wholeNumber({ from: 1, to: 65_535 }), isRequired: true },
});

const discoverRule: OptionRule = {
  ...discoverPort,
  faultsOf: (value) => (typeof value === "boolean" ? [] : discoverPort.faultsOf(value)),
};

/** What each option may be. */
export const agentOptions: OptionTable<Required<AgentOptions>> = {
  url: { rule: plainText({ pattern: /^wss?:\/\/[^\s/]/, range: "a ws or wss address" }) },
  discover: { rule: discoverRule },
  tls: {
    rule: optionsOf<Required<NonNullable<AgentOptions["tls"]>>>({
      ca: { rule: plainText() },
      allowUntrustedCertificate: { rule: trueOrFalse },
    }),
  },
  dial: { rule: aFunction },
  stateDir: { rule: folder, isRequired: true },
  root: { rule: folder, defaultText: "the whole machine" },
  // Whether it is a key says `start`: `KEY_REFUSED`.
  orchestratorKey: { rule: plainText(), defaultText: "the first one that answers is pinned, for good" },
  enrolmentToken: {
    rule: plainText({ pattern: /^\S{1,256}$/, range: "1-256 characters without blanks" }),
    defaultText: "none: an operator approves the agent",
  },
  keptResults: { rule: optionsOf(keptResultsOptions), defaultText: "100 results, 16 MiB, 24 hours" },
  terminals: {
    rule: falseOr(
      optionsOf<Required<TerminalSetup>>({
        user: { rule: plainText({ pattern: /./, range: "1 or more characters" }) },
        shell: { rule: plainText({ pattern: /^\//, range: "an absolute path" }) },
      }),
    ),
    defaultText: "they may, as the user of the agent, with that one's shell",
  },
  commands: { rule: trueOrFalse, defaultText: "true" },
  host: {
    rule: partWith<Host>({ sha256: true, run: true, download: true, barrier: true }),
    defaultText: "this machine, confined to `root`",
  },
  measured: {
    rule: partWith<MeasuredMachine>({ read: true, list: true, space: true, own: true }),
    defaultText: "this machine; nothing is measured where `host` stands for another",
  },
  types: {
    rule: aMap,
    defaultText: "all that ship with the package",
  },
  clock: {
    rule: clockRule,
    defaultText: "the process's clock; the agent then keeps the process alive until it is stopped",
  },
  crypto: { rule: cryptoRule, defaultText: "`node:crypto`" },
  logger: { rule: loggerRule, defaultText: "nowhere" },
};

/** @throws {OrchestratorError} `OPTIONS_INVALID` with every fault. */
export function checkAgentOptions(options: AgentOptions): void {
  checkOptions<Partial<Required<AgentOptions>>>(options, agentOptions, {
    of: "Agent",
    together: ({ url, discover, dial, enrolmentToken, orchestratorKey }): Issue[] => {
      // Of another form it has a fault of its own.
      const isDiscovered = discover === true || Object.hasOwn(Object(discover) as object, "port");
      const ways = [url !== undefined, isDiscovered, dial !== undefined];
      const isOne = ways.filter(Boolean).length === 1;
      const isForAnybody = enrolmentToken !== undefined && orchestratorKey === undefined;
      return [
        ...(isOne ? [] : [fault("or discover or dial is needed, and one of them alone", ["url"])]),
        ...(isForAnybody
          ? [fault("needs orchestratorKey, too: nobody else may get the token", ["enrolmentToken"])]
          : []),
      ];
    },
  });
}

/** What makes the connections of an agent, whose options were checked. */
export function dialOf({ url = "", dial, tls }: AgentOptions): Dial {
  return dial ?? ((signal) => dialWebSocket(url, { ...tls, signal }));
}

/** What metrics of an agent are read from; null where another host stands for the machine and nothing says how that is measured. */
export function machineOf({ host, measured }: AgentOptions, clock: Clock): MeasuredMachine | null {
  return measured ?? (host === undefined ? new LocalMachine(clock) : null);
}
