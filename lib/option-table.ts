/**
 * The options of an orchestrator that are plain values, each once: from here come the checks and defaults of
 * {@link OrchestratorOptions}, the settings and the help of the server, and docs/configuration.md.
 *
 * Light to load: the command line reads it at each start.
 */
import { type Issue } from "./errors.ts";
import { type OptionRow } from "./internal/check-options.ts";
import { parseNetwork } from "./internal/network.ts";
import { fault, listOf, plainText, wholeNumber } from "./internal/option-rules.ts";
import { defaultDiscoveryPort } from "./wire/limits.ts";

export {
  checkOptions,
  didYouMean,
  faultsOfOptions,
  optionsOf,
  withDefaults,
} from "./internal/check-options.ts";
export { nearNames } from "./internal/near-name.ts";
export type { OptionRow, OptionsCheck, OptionTable } from "./internal/check-options.ts";
export {
  aFunction,
  aMap,
  anObject,
  anyNumber,
  inProgramOnly,
  listOf,
  oneOf,
  partWith,
  plainText,
  trueOrFalse,
  wholeNumber,
} from "./internal/option-rules.ts";
export type { EntryRule, NumberBounds, OptionRule, RequiredMethods } from "./internal/option-rules.ts";

/** An option that a server can be told as a text, too. */
export interface SettingRow<Value = unknown> extends OptionRow<Value> {
  /** What it is, as the beginning of a sentence. */
  readonly text: string;
  /** What else is to be known, in sentences of its own. */
  readonly note?: string;
}

const days = wholeNumber({ from: 1, to: 99_999 });

/** What can stand in a line of its own, as the text that operators sign has it. */
const oneLine = /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u;

/** The options of an orchestrator that are plain values. */
export const orchestratorOptionTable = {
  serviceName: {
    text: "Name of the service in the text that operators sign",
    rule: plainText({ pattern: oneLine, range: "one line of 1 to 200 characters" }),
    default: "fleetwright",
  },
  adminPublicKeys: {
    text: "Ed25519 public keys, hex or base64, that become Admin at every start if they are not known yet",
    rule: listOf({ isOne: isAdminKey, is: "a public key, or { public_key, username }" }),
    default: [],
    defaultText: "none",
  },
  sessionIdleSeconds: {
    text: "Seconds without a call after which a session ends",
    note: "Not more than `sessionMaxSeconds`.",
    rule: wholeNumber({ from: 60, to: 86_400 }),
    default: 3_600,
  },
  sessionMaxSeconds: {
    text: "Seconds after which a session ends in any case",
    rule: wholeNumber({ from: 60, to: 604_800 }),
    default: 43_200,
  },
  challengeSeconds: {
    text: "Seconds within which a sign-in challenge must be answered",
    rule: wholeNumber({ from: 5, to: 600 }),
    default: 60,
  },
  signInsPerMinute: {
    text: "Calls a minute to sign in from one address (IPv6: one /64) before `RATE_LIMITED`",
    note: "The limit holds for each operator's key, and for all other keys together. A sign-in takes two calls.",
    rule: wholeNumber({ from: 1, to: 100_000 }),
    default: 30,
  },
  callsPerMinute: {
    text: "Calls a minute in one session before `RATE_LIMITED`",
    note: "A burst of as many is allowed.",
    rule: wholeNumber({ from: 1, to: 1_000_000, none: "no limit" }),
    default: null,
    defaultText: "no limit",
  },
  pendingAgents: {
    text: "Agents that can wait for approval",
    note: "Only 100 of them can be connected at a time, unless the transport says otherwise. Beyond either number one gives way to a newcomer, or the newcomer is refused (`RATE_LIMITED`).",
    rule: wholeNumber({ from: 1, to: 100_000 }),
    default: 1_000,
  },
  pendingAgentRetentionDays: {
    text: "Days without a connection after which an agent waiting for approval is forgotten",
    rule: days,
    default: 7,
  },
  agentOfflineSeconds: {
    text: "Seconds without a connection after which an agent is reported offline",
    note: "Agents that disconnected within 16 seconds are reported together, when the last of them is due.",
    rule: wholeNumber({ from: 10, to: 604_800 }),
    default: 60,
  },
  agentUrl: {
    text: "Address for agents, used by announcements and `/install.sh`, e.g. `wss://fleet.example/agent/v1`",
    rule: plainText({
      pattern: /^wss?:\/\/[\x21-\x7e]{1,370}$/,
      range: "a ws or wss address",
      none: "the server's own in each network",
    }),
    default: null,
    defaultText: "the server's own in each network",
  },
  discoveryPort: {
    text: "UDP port to which announcements are sent",
    note: "The one that agents listen on.",
    rule: wholeNumber({ from: 1, to: 65_535 }),
    default: defaultDiscoveryPort,
  },
  operationTimeoutSeconds: {
    text: "Seconds an operation may run if the caller gives none",
    rule: wholeNumber({ from: 1, to: 86_400 }),
    default: 300,
  },
  operationGraceSeconds: {
    text: "Seconds to wait for a result after an operation's time is up, before it becomes `unknown`",
    rule: wholeNumber({ from: 0, to: 86_400 }),
    default: 30,
  },
  operationRetentionDays: {
    text: "Days for which operations, their results and drift records are kept after they ended",
    rule: days,
    default: 90,
  },
  operationRetentionCount: {
    text: "Operations to keep",
    note: "Beyond that, the oldest ended ones are removed, whatever their age. Each takes 3 KiB of memory.",
    rule: wholeNumber({ from: 1_000, to: 10_000_000 }),
    default: 100_000,
  },
  terminalSessions: {
    text: "Terminals that may be open at once",
    rule: wholeNumber({ from: 1, to: 10_000 }),
    default: 100,
  },
  terminalIdleSeconds: {
    text: "Seconds without typing after which a terminal is closed",
    rule: wholeNumber({ from: 10, to: 86_400 }),
    default: 1_800,
  },
  terminalMaxSeconds: {
    text: "Seconds after which a terminal is closed in any case",
    rule: wholeNumber({ from: 60, to: 604_800 }),
    default: 43_200,
  },
  terminalRetentionDays: {
    text: "Days for which terminals and their recordings are kept after they ended",
    rule: days,
    default: 90,
  },
  eventRetentionHours: {
    text: "Hours for which events are kept for streams that reconnect",
    note: "The audit log has its own retention.",
    rule: wholeNumber({ from: 1, to: 8_760 }),
    default: 24,
  },
  eventRetentionCount: {
    text: "Events to keep for streams that reconnect",
    note: "Beyond that, the oldest are removed, whatever their age. Each takes half a KiB of disk.",
    rule: wholeNumber({ from: 1_000, to: 10_000_000 }),
    default: 100_000,
  },
  auditMinimumAgeDays: {
    text: "Days for which audit events can't be removed by anybody",
    note: "Pruning younger ones and setting a shorter retention are refused, even for an Admin.",
    rule: wholeNumber({ from: 0, to: 3_650 }),
    default: 0,
  },
  metricsIntervalSeconds: {
    text: "Seconds from one sample of an agent's metrics to the next",
    rule: wholeNumber({ from: 1, to: 3_600 }),
    default: 15,
  },
  secretExpiryWarningDays: {
    text: "Days before a secret expires at which this is reported",
    rule: wholeNumber({ from: 0, to: 365 }),
    default: 14,
  },
  notificationRetentionDays: {
    text: "Days for which notifications are kept",
    note: "Beyond 10,000, the oldest are removed, whatever their age.",
    rule: days,
    default: 90,
  },
  channelNetworks: {
    text: "Networks that channels may send messages to although they aren't public, e.g. `10.20.0.0/16`",
    rule: listOf({
      isOne: (text) => typeof text === "string" && parseNetwork(text) !== null,
      is: "a network such as 10.0.0.0/8, or an address",
    }),
    default: [],
    defaultText: "none",
  },
  rolloutConcurrency: {
    text: "Operations of one rollout that may be open at once",
    rule: wholeNumber({ from: 1, to: 10_000 }),
    default: 500,
  },
  driftIntervalSeconds: {
    text: "Seconds from one drift check of an agent to the next",
    rule: wholeNumber({ from: 300, to: 2_592_000, zero: "no automatic checks" }),
    default: 3_600,
  },
  driftConcurrency: {
    text: "Automatic drift checks that may run at once",
    rule: wholeNumber({ from: 1, to: 1_000 }),
    default: 8,
  },
} as const satisfies Record<string, SettingRow>;

const many = wholeNumber({ from: 1, to: 1_000_000 });

/** How many agents may be in the middle of connecting: options of a transport over sockets, and of a server. */
export const handshakeOptionTable = {
  maxHandshakes: {
    text: "Agent handshakes at one time",
    note: "Further agents are turned away and told when to try again. Each may hold a frame of 1 MiB.",
    rule: many,
    default: 256,
  },
  maxHandshakesPerAddress: {
    text: "Of these, handshakes from one address (IPv6: one /64)",
    note: "This keeps one address from holding all the slots. Agents behind one untrusted proxy share an address.",
    rule: many,
    default: 64,
  },
} as const satisfies Record<string, SettingRow>;

/** Faults of an orchestrator's options together: each may be good and both be nonsense. */
export function faultsTogether(given: {
  sessionIdleSeconds?: unknown;
  sessionMaxSeconds?: unknown;
}): Issue[] {
  const { sessionIdleSeconds, sessionMaxSeconds } = orchestratorOptionTable;
  // An idle time that nobody gave is no mistake: a session that ends earlier ends earlier.
  const idle = given.sessionIdleSeconds ?? 0;
  const most = given.sessionMaxSeconds ?? sessionMaxSeconds.default;
  const areGood =
    [sessionIdleSeconds.rule.faultsOf(idle), sessionMaxSeconds.rule.faultsOf(most)].flat().length === 0;
  if (!areGood || (idle as number) <= (most as number)) return [];
  const message = `must not be more than sessionMaxSeconds, which is ${String(most)}: it would end no session`;
  return [fault(message, ["sessionIdleSeconds"])];
}

function isAdminKey(entry: unknown): boolean {
  if (typeof entry === "string") return true;
  if (typeof entry !== "object" || entry === null) return false;
  const { public_key, username, ...others } = entry as Record<string, unknown>;
  const isName = username === undefined || typeof username === "string";
  return typeof public_key === "string" && isName && Object.keys(others).length === 0;
}
