import { systemClock, type Clock } from "./clock.ts";
import type { Crypto } from "./crypto/crypto.ts";
import { nodeCrypto } from "./crypto/node-crypto.ts";
import { silentLogger, type Logger } from "./logger.ts";
import type { Cron } from "./schedules/cron.ts";
import { cronerCron } from "./schedules/croner-cron.ts";
import type { Storage } from "./storage/storage.ts";
import type { Transport } from "./transport/transport.ts";

/** Somebody who is made Admin at the start. */
export interface AdminKey {
  /** Ed25519, hex or base64. */
  public_key: string;
  /** Default, and where it is taken or can't be a name: `admin-` and the beginning of the operator's id. */
  username?: string;
}

/** What an {@link Orchestrator} is made of, and how it behaves. */
export interface OrchestratorOptions {
  /** Where everything is kept: `FileStorage` for one process, `MemoryStorage` for trials and tests. */
  storage: Storage;
  /** How agents are reached. */
  transport: Transport;
  /** Name that operators see in the text they sign, one line of 1-200 characters. Default "fleetwright". */
  serviceName?: string;
  /** Ed25519 public keys (hex or base64) that are made Admin at every start if they are not known. Default none. */
  adminPublicKeys?: readonly (string | AdminKey)[];
  /** Seconds without a call after which a session ends, 60-86,400. Default 3,600. */
  sessionIdleSeconds?: number;
  /** Seconds after which a session ends in any case, 60-604,800. Default 43,200. */
  sessionMaxSeconds?: number;
  /** Seconds in which a sign-in challenge must be answered, 5-600. Default 60. */
  challengeSeconds?: number;
  /**
   * Calls a minute to sign in, from one address (of IPv6: one /64), before `RATE_LIMITED`: so many for each key of an operator, and so
   * many for all other keys together. A sign-in takes two. Default 30.
   */
  signInsPerMinute?: number;
  /** Calls a minute of one session before `RATE_LIMITED`; a burst of as many is let through. Null, the default: no limit. */
  callsPerMinute?: number | null;
  /** Agents that may wait to be approved; past it one gives way to a newcomer, or that is refused (`RATE_LIMITED`). 1-100,000. Default 1,000. */
  pendingAgents?: number;
  /** Days after which an agent that waits to be approved and was not connected is forgotten, at least 1. Default 7. */
  pendingAgentRetentionDays?: number;
  /** Seconds an operation may run where the caller names none, 1-86,400. Default 300. */
  operationTimeoutSeconds?: number;
  /** Seconds past an operation's time in which its result is still awaited before it is `unknown`. Default 30. */
  operationGraceSeconds?: number;
  /** Days for which operations, their results and drift records are kept after they ended, at least 1. Default 90. */
  operationRetentionDays?: number;
  /**
   * Operations that are kept, at least 1,000; of more, the oldest that ended go, whatever their age. Each takes 3 KiB of memory.
   * Default 100,000.
   */
  operationRetentionCount?: number;
  /**
   * Days for which audit events are kept whoever prunes them, 0-3,650: a prune of younger ones and a retention of less are refused.
   * Default 0.
   */
  auditMinimumAgeDays?: number;
  /** Operations of one rollout that are open at once, 1-10,000. Default 500. */
  rolloutConcurrency?: number;
  /** Seconds from one drift check of an agent to the next, 300-2,592,000; 0 = none by itself. Default 3,600. */
  driftIntervalSeconds?: number;
  /** Drift checks that go on at once, 1-1,000, of those that are made by themselves. Default 8. */
  driftConcurrency?: number;
  /** Time, injected by tests. Default the process's clock. */
  clock?: Clock;
  /** Cryptography. Default Node's. */
  crypto?: Crypto;
  /** Works out when schedules are due. Default croner. */
  cron?: Cron;
  /** Where the orchestrator reports what goes on inside. Default nowhere. */
  logger?: Logger;
}

/** Options with every default applied. */
export type ResolvedOptions = Required<OrchestratorOptions>;

/** Applies the defaults: the only place that does. */
export function resolveOptions(options: OrchestratorOptions): ResolvedOptions {
  return {
    storage: options.storage,
    transport: options.transport,
    serviceName: options.serviceName ?? "fleetwright",
    adminPublicKeys: options.adminPublicKeys ?? [],
    sessionIdleSeconds: options.sessionIdleSeconds ?? 3_600,
    sessionMaxSeconds: options.sessionMaxSeconds ?? 43_200,
    challengeSeconds: options.challengeSeconds ?? 60,
    signInsPerMinute: options.signInsPerMinute ?? 30,
    callsPerMinute: options.callsPerMinute ?? null,
    pendingAgents: options.pendingAgents ?? 1_000,
    pendingAgentRetentionDays: options.pendingAgentRetentionDays ?? 7,
    operationTimeoutSeconds: options.operationTimeoutSeconds ?? 300,
    operationGraceSeconds: options.operationGraceSeconds ?? 30,
    operationRetentionDays: options.operationRetentionDays ?? 90,
    operationRetentionCount: options.operationRetentionCount ?? 100_000,
    auditMinimumAgeDays: options.auditMinimumAgeDays ?? 0,
    rolloutConcurrency: options.rolloutConcurrency ?? 500,
    driftIntervalSeconds: options.driftIntervalSeconds ?? 3_600,
    driftConcurrency: options.driftConcurrency ?? 8,
    clock: options.clock ?? systemClock,
    crypto: options.crypto ?? nodeCrypto,
    cron: options.cron ?? cronerCron,
    logger: options.logger ?? silentLogger,
  };
}
