/** What goes between two processes, and what it carries as JSON. */
import { toUtf8 } from "../crypto/encoding.ts";
import { errorTable, isOrchestratorError, OrchestratorError, type ErrorCode } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { maxBodyBytes } from "./limits.ts";

/** One frame. Bodies are JSON as text, so that no process ever holds an object of another. */
export type ClusterFrame =
  | { kind: "call"; id: number; method: string; body: string }
  | { kind: "answer"; id: number; body: string }
  | { kind: "failure"; id: number; error: ClusterError }
  | { kind: "open"; pipe: string; method: string; body: string }
  | (PipePlace & { kind: "reset"; error: ClusterError })
  | PipeFrame;

/** A frame of a pipe that is open: each side numbers its own from 0, without a gap. */
export type PipeFrame = PipeStep & PipePlace & { number: number };

/** Of which pipe a frame is, and which side sends it: a process may have both. */
export interface PipePlace {
  pipe: string;
  by: "opener" | "server";
}

/** What one side of a pipe says to the other. */
export type PipeStep =
  /** The method has begun: the first of the side that was asked. */
  | { kind: "opened" }
  | { kind: "data"; bytes: Uint8Array }
  /** So much more may be written. */
  | { kind: "credit"; bytes: number }
  /** Nothing more is written. */
  | { kind: "end" }
  /** All up to the end has arrived. */
  | { kind: "ended" }
  /** Nothing; it shows that nothing before it was lost. */
  | { kind: "beat" };

/** An error on its way to another process. */
export interface ClusterError {
  code: string;
  message: string;
  details: JsonObject;
}

/** Why a process can't be talked to, for `details.reason`. */
export type Loss = "gone" | "down" | "stopped" | "timeout" | "silent" | "gap" | "overrun" | "closed" | "busy";

const messages: Record<Loss, string> = {
  gone: "The other process is gone.",
  down: "The other processes are not reached.",
  stopped: "The process leaves the others.",
  timeout: "The other process did not answer in time.",
  silent: "Nothing was heard of the other process.",
  gap: "A part was lost between two processes.",
  overrun: "More came from another process than was agreed.",
  closed: "The pipe is ended.",
  busy: "The process has too much in hand for others.",
};

/** The error of whoever waited for another process. */
export function lost(reason: Loss): OrchestratorError {
  return new OrchestratorError("UNAVAILABLE", { message: messages[reason], details: { reason } });
}

/** The error for a method that a process does not know. */
export function unknownMethod(method: string): OrchestratorError {
  const message = `The other process does not know the method ${method}.`;
  return new OrchestratorError("METHOD_NOT_ALLOWED", { message, details: { method } });
}

/** Writes an error for another process. One that was not thrown on purpose says no more than `INTERNAL`. */
export function toClusterError(error: unknown): ClusterError {
  if (!isOrchestratorError(error))
    return { code: "INTERNAL", message: errorTable.INTERNAL.message, details: {} };
  const { code, message, details } = error;
  return { code, message, details };
}

/** Reads an error of another process. */
export function fromClusterError(error: ClusterError): OrchestratorError {
  const { code, message, details } = error;
  if (Object.hasOwn(errorTable, code)) return new OrchestratorError(code as ErrorCode, { message, details });
  return new OrchestratorError("PEER_ERROR", { details: { code, message } });
}

/** Writes a body or an answer as JSON; `PAYLOAD_TOO_LARGE` where it is above 1 MiB. */
export function toBody(body: JsonObject): string {
  const text = JSON.stringify(body);
  // No character of UTF-16 takes more than three bytes.
  if (text.length * 3 <= maxBodyBytes || toUtf8(text).length <= maxBodyBytes) return text;
  const message = "What processes ask each other may have 1 MiB.";
  throw new OrchestratorError("PAYLOAD_TOO_LARGE", { message, details: { max_bytes: maxBodyBytes } });
}

/** Reads a body or an answer. */
export function fromBody(text: string): JsonObject {
  return JSON.parse(text) as JsonObject;
}
