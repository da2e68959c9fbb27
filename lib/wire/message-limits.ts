/**
 * How large a message of each type may be, so that none costs more than it needs. Both sides hold to it: what is larger is
 * neither sent nor read.
 */
import { maxMessageBytes } from "./limits.ts";

/** Limits of one message. */
export interface MessageLimits {
  /** Bytes of text. */
  bytes: number;
  /** Values of any kind in it, lists and objects included. */
  nodes: number;
}

const kib = 1024;
const small: MessageLimits = { bytes: 64 * kib, nodes: 100 };
/** What a run of 10,000 resources takes, with long lists in them. */
const run: MessageLimits = { bytes: maxMessageBytes, nodes: 2_000_000 };

/** Limits of each type of message; a type that is not among them is none. */
export const messageLimits: Readonly<Record<string, MessageLimits>> = {
  // Orchestrator to agent.
  apply: run,
  plan: run,
  check: run,
  /** One script with its variables, every character of them escaped. */
  run: { bytes: 4096 * kib, nodes: 2_000 },
  /** 1,000 names. */
  forget: { bytes: 2048 * kib, nodes: 1_100 },
  cancel: small,
  ack: small,
  status: small,
  "attributes.refresh": small,
  config: small,
  "metrics.ack": small,
  "terminal.open": small,
  "terminal.resize": small,
  "terminal.close": small,
  "terminal.grant": { bytes: 4 * kib, nodes: 20 },
  // Agent to orchestrator.
  reply: { bytes: 256 * kib, nodes: 5_000 },
  /** 1000 resources with what changed in them. */
  progress: { bytes: maxMessageBytes, nodes: 100_000 },
  output: { bytes: maxMessageBytes, nodes: 1_000 },
  /** 20,000 resources with two properties that changed in each. */
  result: { bytes: maxMessageBytes, nodes: 600_000 },
  attributes: { bytes: 1024 * kib, nodes: 5_000 },
  metrics: { bytes: 1024 * kib, nodes: 50_000 },
  "terminal.closed": { bytes: 8 * kib, nodes: 20 },
  "terminal.taken": { bytes: 4 * kib, nodes: 20 },
  log: { bytes: 64 * kib, nodes: 20 },
};

/** Most values that a message of any type may have. */
export const mostNodes: number = Math.max(...Object.values(messageLimits).map(({ nodes }) => nodes));
/** The limits of a type of message; null where there is no such type. */
export function limitsOf(type: string | null): MessageLimits | null {
  return type !== null && Object.hasOwn(messageLimits, type) ? (messageLimits[type] ?? null) : null;
}
