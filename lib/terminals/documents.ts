import type { Role } from "../callers/roles.ts";
import type { CollectionDefinition } from "../storage/storage.ts";

/** A terminal as stored, under its session_id. */
export interface TerminalDocument {
  session_id: string;
  node_id: string;
  /** As the agent was called then. */
  agent_name: string;
  /** Who opened it. */
  operator_id: string;
  username: string;
  status: "active" | "closed" | "interrupted";
  /** The role that the opener had; null for the process itself. */
  opener_role: Role | null;
  /** Why it was opened, as the operator said. */
  reason?: string;
  cols: number;
  rows: number;
  shell?: string;
  opened_at: string;
  closed_at?: string;
  close_reason?: string;
  exit_code?: number;
  recording: "recording" | "complete" | "partial" | "missing";
  /** Bytes of output; 0 while it is active: its holder knows. */
  bytes: number;
  /** The process that holds it. */
  holder: string;
  /** See `TerminalEndFacts`. */
  recording_bytes?: number;
  recording_hash?: string;
}

/** What lets somebody attach, under the SHA-256 of its secret. */
export interface TicketDocument {
  session_id: string;
  operator_id: string;
  /** The operator's session, see `OperatorCaller`; null for the process itself. */
  operator_session: string | null;
  /** Fleet time, milliseconds since 1970. */
  expires_at: number;
}

/** What the terminals feature keeps. */
export const terminalCollections = {
  terminals: {
    indexes: { by_status: ["status"], by_node: ["node_id"], by_node_status: ["node_id", "status"] },
  },
  terminal_tickets: { indexes: { by_expiry: ["expires_at"] } },
} as const satisfies Record<string, CollectionDefinition>;

/** The blob that the recording of a terminal is in. */
export function recordingOf(sessionId: string): string {
  return `terminal-${sessionId}`;
}

/** Whoever closes it for one of these leaves its programs time to put things in order; for any other they are ended at once. */
const patientReasons = new Set(["closed", "detached", "idle", "too_long"]);

/** What an agent is told to close a terminal: once is to hang up, twice to end it at once. */
export function closingCommands(reason: string): readonly { type: "terminal.close" }[] {
  const once = { type: "terminal.close" } as const;
  return patientReasons.has(reason) ? [once] : [once, once];
}
