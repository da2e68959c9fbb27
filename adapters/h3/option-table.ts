/**
 * What the options of the surface and of its listener may be. Light to load: the command line makes settings of some of them at each
 * start.
 */
import { isIP } from "node:net";
import type { Issue, Logger, Orchestrator, SocketTransport } from "fleetwright";
import {
  aFunction,
  aMap,
  anyNumber,
  faultsTogether,
  inProgramOnly,
  listOf,
  optionsOf,
  orchestratorOptionTable,
  partWith,
  plainText,
  trueOrFalse,
  wholeNumber,
} from "fleetwright/options";
import type { OptionRow, SettingRow } from "fleetwright/options";
import type { OpenApiOptions } from "../rest/openapi.ts";
import { isNetwork } from "./network.ts";

/** Who may be believed, and by which names the service is called. */
export const reachOptions = {
  trustedProxies: {
    text: "Addresses or networks of proxies whose `X-Forwarded-For` is believed",
    rule: listOf({ isOne: isNetwork, is: "an address, or a network such as 10.0.0.0/8" }),
    defaultText: "none",
  },
  allowedHosts: {
    text: "Host names of the service, without a port",
    note: "Requests and sign-ins for others are refused (against DNS rebinding), except IP addresses and `localhost`.",
    rule: listOf({ isOne: isHostName, is: "a host name without a port, or an IP address" }),
    defaultText: "any",
  },
} satisfies Record<string, SettingRow>;

/** Whether proxies speak first. */
export const proxyOptions = {
  proxyProtocol: {
    text: "Connections from `trustedProxies` begin with a PROXY protocol header, version 1 or 2",
    note: "It says where they come from; a connection without it is closed. For proxies that pass bytes through.",
    rule: trueOrFalse,
    default: false,
  },
} satisfies Record<string, SettingRow>;

/** Faults of a server's options together. */
export function serverFaultsTogether(given: {
  sessionIdleSeconds?: unknown;
  sessionMaxSeconds?: unknown;
  trustedProxies?: unknown;
  proxyProtocol?: unknown;
}): Issue[] {
  const { trustedProxies, proxyProtocol } = given;
  const hasProxies = Array.isArray(trustedProxies) && trustedProxies.length > 0;
  const message = "needs trustedProxies: only a proxy that is trusted is believed";
  return [
    ...faultsTogether(given),
    ...(proxyProtocol === true && !hasProxies ? [{ path: ["proxyProtocol"], message }] : []),
  ];
}

/** How a server stops. */
export const stopOptions = {
  drainSeconds: {
    text: "Seconds over which agents are disconnected when the server stops, one after the other",
    note: "Meanwhile it is not ready (`/readyz`), but still serves. For fleets with another server behind the same address; 30 is a good value there.",
    rule: wholeNumber({ from: 0, to: 3_600 }),
    default: 0,
  },
} satisfies Record<string, SettingRow>;

/** What is brought onto machines. */
export const installOptions = {
  agentDir: {
    text: "Folder of the agent made by `npm run build:agent`, which `/install.sh` installs on machines",
    rule: plainText({ pattern: /./ }),
    defaultText: "`dist/agent` of the package",
  },
} satisfies Record<string, SettingRow>;

/** Where the figures of the server itself are read. */
export const ownMetricsOptions = {
  metricsPort: {
    text: "Port on 127.0.0.1 for `GET /metrics`: figures of the server itself, for Prometheus, without sign-in",
    note: "A busy one is an error.",
    rule: wholeNumber({ from: 0, to: 65_535, zero: "none" }),
    default: 0,
  },
  metricsToken: {
    text: "Token for `GET /metrics` on the server's main port, as `Authorization: Bearer TOKEN`",
    rule: plainText({ pattern: /^[\x21-\x7e]{16,200}$/, range: "16 to 200 printable characters" }),
    defaultText: "none: there is no such path",
  },
} satisfies Record<string, SettingRow>;

/** What the options of a listener may be. */
export const listenAppOptions = {
  host: {
    text: "Address or name to listen on",
    note: "Any except a loopback one needs TLS.",
    rule: plainText(),
    default: "127.0.0.1",
    defaultText: "`127.0.0.1`",
  },
  port: {
    text: "Port",
    note: "A busy one is an error, 0 takes a free one.",
    rule: wholeNumber({ from: 0, to: 65_535 }),
    isRequired: true,
  },
  tls: {
    rule: optionsOf<{ cert: string; key: string }>({
      cert: { rule: plainText(), isRequired: true },
      key: { rule: plainText(), isRequired: true },
    }),
  },
  allowInsecure: {
    text: "Listens without TLS even on addresses others can reach",
    note: "For use behind a proxy that terminates TLS.",
    rule: trueOrFalse,
    default: false,
  },
  proxyProtocolFrom: {
    rule: listOf({ isOne: isNetwork, is: "an address, or a network such as 10.0.0.0/8" }),
    defaultText: "none",
  },
  graceMs: { rule: wholeNumber({ from: 0, to: 3_600_000 }), default: 10_000 },
  headersMs: { rule: wholeNumber({ from: 10, to: 3_600_000 }), default: 20_000 },
  requestMs: { rule: wholeNumber({ from: 10, to: 86_400_000 }), default: 60_000 },
  stallMs: { rule: wholeNumber({ from: 10, to: 3_600_000 }), default: 60_000 },
} satisfies Record<string, OptionRow | SettingRow>;

const gibibyte = 2 ** 30;
const path = plainText({ pattern: /^(?:\/[^/?#\s]+)*$/, range: "begins with a slash and ends without one" });

const sharedOptions = {
  isReady: { rule: aFunction, isRequired: true },
  sockets: { rule: partWith<{ get(): unknown; keys(): unknown }>({ get: true, keys: true }) },
  logger: {
    rule: partWith<Logger>({ debug: true, info: true, warn: true, error: true }),
    defaultText: "nothing is logged",
  },
  mountPath: { rule: path, defaultText: "nothing" },
  bodyLimitBytes: { rule: wholeNumber({ from: 1, to: gibibyte }), defaultText: "1 MiB" },
  ...reachOptions,
  openapi: {
    rule: optionsOf<Required<OpenApiOptions>>({
      title: { rule: plainText() },
      description: { rule: plainText() },
      basePath: { rule: path },
      version: { rule: plainText() },
    }),
  },
  resourceTypes: { rule: aMap, defaultText: "all that ship with the package" },
  createRequestId: { rule: aFunction, defaultText: "a random start and a count" },
  maxMessageBytes: { rule: wholeNumber({ from: 1, to: gibibyte }), defaultText: "1 MiB" },
  idleTimeoutSeconds: {
    rule: anyNumber({ from: 0.01, to: 86_400, zero: "silent peers are not looked for" }),
    defaultText: "30",
  },
} satisfies Record<string, OptionRow>;

/** What the options of an app may be. */
export const appOptions = {
  ...sharedOptions,
  router: {
    rule: inProgramOnly((value) =>
      typeof (value as { _def?: unknown } | null)?._def === "object"
        ? []
        : [{ path: [], message: "must be a router of tRPC" }],
    ),
    isRequired: true,
  },
  createContext: { rule: aFunction, isRequired: true },
  basePath: { rule: path, defaultText: "`/api/v1` below the mount path" },
} satisfies Record<string, OptionRow>;

/** What the options of an orchestrator's app may be. */
export const orchestratorAppOptions = {
  ...sharedOptions,
  isReady: { rule: aFunction },
  orchestrator: {
    rule: partWith<Pick<Orchestrator, "checkReady">>({ checkReady: true }),
    isRequired: true,
  },
  transport: {
    rule: partWith<Pick<SocketTransport, "accept">>({ accept: true }),
    defaultText: "no agent connects here",
  },
  agentDir: { rule: installOptions.agentDir.rule, defaultText: "none" },
  agentUrl: { ...orchestratorOptionTable.agentUrl, defaultText: "the host that was asked" },
} satisfies Record<string, OptionRow>;

function isHostName(entry: unknown): boolean {
  return typeof entry === "string" && (/^[A-Za-z0-9._-]+$/.test(entry) || isIP(entry) !== 0);
}
