import { systemClock, type Clock } from "./clock.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { LocalCluster } from "./cluster/local-cluster.ts";
import type { Crypto } from "./crypto/crypto.ts";
import { nodeCrypto } from "./crypto/node-crypto.ts";
import { checkOptions, type OptionTable, withDefaults } from "./internal/check-options.ts";
import { partWith } from "./internal/option-rules.ts";
import { silentLogger, toSteadyLogger, type Logger } from "./logger.ts";
import { channelTypesRule } from "./notifications/senders/own-channel-types.ts";
import type { ChannelType } from "./notifications/senders/sender.ts";
import { faultsTogether, orchestratorOptionTable } from "./option-table.ts";
import { clockRule, cryptoRule, loggerRule } from "./part-rules.ts";
import type { Cron } from "./schedules/cron.ts";
import { cronerCron } from "./schedules/croner-cron.ts";
import { secretsKeyRule, type SecretsKey } from "./secrets/secrets-key.ts";
import { ownTypesRule } from "./state/own-types.ts";
import type { ResourceType } from "./state/resource-type.ts";
import type { Storage } from "./storage/storage.ts";
import type { Datagrams } from "./transport/datagrams.ts";
import type { Transport } from "./transport/transport.ts";
import { udp } from "./transport/udp.ts";

/** Somebody who is made Admin at the start. */
export interface AdminKey {
  /** Ed25519, hex or base64. */
  public_key: string;
  /** Default, and where it is taken or can't be a name: `admin-` and the beginning of the operator's id. */
  username?: string;
}

/**
 * What an {@link Orchestrator} is made of, and how it behaves. Values out of range, unknown options and parts without the methods of
 * their port are refused when it is made, all at once: `OPTIONS_INVALID`. An option that is undefined has its default.
 */
export interface OrchestratorOptions {
  /** Where everything is kept: `FileStorage` for one process, `MemoryStorage` for trials and tests. */
  storage: Storage;
  /** How agents are reached. */
  transport: Transport;
  /**
   * How several processes of one orchestrator talk to each other; each is of one orchestrator. Default a `LocalCluster`, which is this
   * process alone.
   */
  cluster?: Cluster;
  /** Name of the service in the text that operators sign, one line of 1 to 200 characters. Default "fleetwright". */
  serviceName?: string;
  /** Ed25519 public keys, hex or base64, that become Admin at every start if they are not known yet. Default none. */
  adminPublicKeys?: readonly (string | AdminKey)[];
  /** Seconds without a call after which a session ends, 60 to 86,400. Not more than `sessionMaxSeconds`. Default 3,600. */
  sessionIdleSeconds?: number;
  /** Seconds after which a session ends in any case, 60 to 604,800. Default 43,200. */
  sessionMaxSeconds?: number;
  /** Seconds within which a sign-in challenge must be answered, 5 to 600. Default 60. */
  challengeSeconds?: number;
  /**
   * Calls a minute to sign in from one address (IPv6: one /64) before `RATE_LIMITED`, 1 to 100,000. The limit holds for each operator's key,
   * and for all other keys together. A sign-in takes two calls. Default 30.
   */
  signInsPerMinute?: number;
  /**
   * Calls a minute in one session before `RATE_LIMITED`, 1 to 1,000,000; null: no limit. A burst of as many is allowed. Default no limit.
   */
  callsPerMinute?: number | null;
  /**
   * Agents that can wait for approval, 1 to 100,000. Only 100 of them can be connected at a time, unless the transport says
   * otherwise. Beyond either number one gives way to a newcomer, or the newcomer is refused (`RATE_LIMITED`). Default 1,000.
   */
  pendingAgents?: number;
  /** Days without a connection after which an agent waiting for approval is forgotten, 1 to 99,999. Default 7. */
  pendingAgentRetentionDays?: number;
  /**
   * Seconds without a connection after which an agent is reported offline, 10 to 604,800. Agents that disconnected within 16 seconds are
   * reported together, when the last of them is due. Default 60.
   */
  agentOfflineSeconds?: number;
  /**
   * Address for agents, used by announcements and `/install.sh`, e.g. `wss://fleet.example/agent/v1`, a ws or wss address; null: the
   * server's own in each network. Default the server's own in each network.
   */
  agentUrl?: string | null;
  /** UDP port to which announcements are sent, 1 to 65,535. The one that agents listen on. Default 4,747. */
  discoveryPort?: number;
  /** Seconds an operation may run if the caller gives none, 1 to 86,400. Default 300. */
  operationTimeoutSeconds?: number;
  /** Seconds to wait for a result after an operation's time is up, before it becomes `unknown`, 0 to 86,400. Default 30. */
  operationGraceSeconds?: number;
  /** Days for which operations, their results and drift records are kept after they ended, 1 to 99,999. Default 90. */
  operationRetentionDays?: number;
  /**
   * Operations to keep, 1,000 to 10,000,000. Beyond that, the oldest ended ones are removed, whatever their age. Each takes 3 KiB of
   * memory. Default 100,000.
   */
  operationRetentionCount?: number;
  /** Hours for which events are kept for streams that reconnect, 1 to 8,760. The audit log has its own retention. Default 24. */
  eventRetentionHours?: number;
  /** Terminals that may be open at once, 1 to 10,000. Default 100. */
  terminalSessions?: number;
  /** Seconds without typing after which a terminal is closed, 10 to 86,400. Default 1,800. */
  terminalIdleSeconds?: number;
  /** Seconds after which a terminal is closed in any case, 60 to 604,800. Default 43,200. */
  terminalMaxSeconds?: number;
  /** Days for which terminals and their recordings are kept after they ended, 1 to 99,999. Default 90. */
  terminalRetentionDays?: number;
  /**
   * Events to keep for streams that reconnect, 1,000 to 10,000,000. Beyond that, the oldest are removed, whatever their age. Each takes
   * half a KiB of disk. Default 100,000.
   */
  eventRetentionCount?: number;
  /**
   * Days for which audit events can't be removed by anybody, 0 to 3,650. Pruning younger ones and setting a shorter retention are
   * refused, even for an Admin. Default 0.
   */
  auditMinimumAgeDays?: number;
  /** Seconds from one sample of an agent's metrics to the next, 1 to 3,600. Default 15. */
  metricsIntervalSeconds?: number;
  /** Days before a secret expires at which this is reported, 0 to 365. Default 14. */
  secretExpiryWarningDays?: number;
  /** Days for which notifications are kept, 1 to 99,999. Beyond 10,000, the oldest are removed, whatever their age. Default 90. */
  notificationRetentionDays?: number;
  /** Networks that channels may send messages to although they aren't public, e.g. `10.20.0.0/16`. Default none. */
  channelNetworks?: readonly string[];
  /** Operations of one rollout that may be open at once, 1 to 10,000. Default 500. */
  rolloutConcurrency?: number;
  /** Seconds from one drift check of an agent to the next, 300 to 2,592,000; 0: no automatic checks. Default 3,600. */
  driftIntervalSeconds?: number;
  /** Automatic drift checks that may run at once, 1 to 1,000. Default 8. */
  driftConcurrency?: number;
  /**
   * The key that secrets are encrypted with, 32 bytes, or where it comes from: `SecretsKeySource`. Without one secrets answer
   * `SECRETS_KEY_MISSING`, and all else works. Default none.
   */
  secretsKey?: SecretsKey | null;
  /** Types of resources of your own that modules may use beside those that ship; agents need them, too (`types`). Default none. */
  ownTypes?: readonly ResourceType[];
  /** Types of notification channels of your own, by name, beside those that ship. Default none. */
  channelTypes?: Readonly<Record<string, ChannelType>>;
  /** Time, injected by tests. Default the process's clock. */
  clock?: Clock;
  /** Cryptography. Default Node's. */
  crypto?: Crypto;
  /** Works out when schedules are due. Default croner. */
  cron?: Cron;
  /** How the orchestrator calls into the local network. Default UDP. */
  datagrams?: Datagrams;
  /** Where the orchestrator reports what goes on inside. Default nowhere. */
  logger?: Logger;
}

/** Options with every default applied. */
export type ResolvedOptions = Required<OrchestratorOptions>;

const table: OptionTable<ResolvedOptions> = {
  ...orchestratorOptionTable,
  storage: {
    rule: partWith<Storage>({
      open: true,
      close: true,
      check: true,
      get: true,
      getMany: true,
      count: true,
      list: true,
      commit: true,
      readLog: true,
      trimLog: true,
      appendBlob: true,
      openBlob: true,
      readBlob: true,
      lease: true,
      follow: true,
    }),
    isRequired: true,
  },
  transport: {
    rule: partWith<Transport>({
      start: true,
      stop: true,
      send: true,
      sendStream: true,
      isConnected: true,
      disconnect: true,
    }),
    isRequired: true,
  },
  cluster: {
    rule: partWith<Cluster>({ start: true, stop: true, ring: true, call: true, open: true }),
    defaultText: "a `LocalCluster`, which is this process alone",
  },
  secretsKey: { rule: secretsKeyRule, default: null, defaultText: "none" },
  ownTypes: { rule: ownTypesRule, default: [], defaultText: "none" },
  channelTypes: { rule: channelTypesRule, default: {}, defaultText: "none" },
  clock: { rule: clockRule, default: systemClock, defaultText: "the process's clock" },
  crypto: { rule: cryptoRule, default: nodeCrypto, defaultText: "Node's" },
  cron: { rule: partWith<Cron>({ next: true }), default: cronerCron, defaultText: "croner" },
  datagrams: {
    rule: partWith<Datagrams>({ addresses: true, routeTo: true, open: true }),
    default: udp,
    defaultText: "UDP",
  },
  logger: { rule: loggerRule, default: silentLogger, defaultText: "nowhere" },
};

/**
 * Applies the defaults: the only place that does.
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options.
 */
export function resolveOptions(options: OrchestratorOptions): ResolvedOptions {
  checkOptions<Partial<ResolvedOptions>>(options, table, { of: "Orchestrator", together: faultsTogether });
  const { cluster = new LocalCluster(), logger = silentLogger } = options;
  return withDefaults({ ...options, cluster, logger: toSteadyLogger(logger) }, table);
}

/** Every option of an orchestrator, for who takes them among others. */
export const orchestratorOptions: OptionTable<ResolvedOptions> = table;
