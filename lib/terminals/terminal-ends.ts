/** How the end of a terminal is written down, and what is kept of it for whoever lost the connection by then, or was not there yet. */
import { systemCaller } from "../callers/caller.ts";
import type { Clock, Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { recordingOf, type TerminalDocument } from "./documents.ts";
import type { LiveTerminal } from "./live-terminal.ts";
import { hashRecording } from "./recording-hash.ts";
import type { TerminalEnd } from "./terminal-viewer.ts";

/** Writes how a terminal ended, with the hash of its recording in the event. Nothing where it has ended already. */
export async function writeEnd(
  context: Context,
  { session_id }: Pick<TerminalDocument, "session_id">,
  end: TerminalEnd,
): Promise<void> {
  const hashed = await hashRecording(context, recordingOf(session_id));
  await retryOnConflict(async () => {
    const stored = await context.storage.get<TerminalDocument>("terminals", session_id);
    if (!stored || stored.value.status !== "active") return;
    const { exitCode, status, reason, bytes } = end;
    const recording = hashed === null ? "missing" : end.recording;
    const facts = {
      recording_bytes: hashed?.bytes ?? 0,
      ...(hashed && { recording_hash: hashed.hash }),
      ...(exitCode !== undefined && { exit_code: exitCode }),
    };
    const { node_id, operator_id, username, agent_name } = stored.value;
    const value = {
      ...stored.value,
      ...facts,
      status,
      recording,
      bytes,
      close_reason: reason,
      closed_at: context.timestamp(),
    };
    const write = {
      kind: "put",
      collection: "terminals",
      key: session_id,
      value: toJsonObject(value),
    } as const;
    await context.commitWithReserve(systemCaller, [{ ...write, expected: stored.revision }], {
      type: status === "closed" ? "terminal.closed" : "terminal.interrupted",
      target: { type: "terminal", id: session_id, name: agent_name },
      summary: `The terminal of ${username} on ${agent_name} ${status === "closed" ? "was closed" : "was interrupted"}: ${reason}`,
      metadata: { session_id, node_id, operator_id, reason, recording, ...facts },
    });
  });
}

/** The refusal of what can be done with a terminal only while it is shown. */
export function closedTerminal(): OrchestratorError {
  return new OrchestratorError("INVALID_TRANSITION", { message: "The terminal is closed." });
}

/** As long as one who was cut off may come back to a terminal that is open. */
const shownMs = 60_000;
const keptBytes = 16_777_216;
/** Memory of one that printed nothing, roughly: an operator may open many of them. */
const leastBytes = 65_536;

/**
 * Whether somebody may still attach: while it is active and for a minute more, unless it was closed on purpose, or what it showed is gone
 * with its holder.
 */
export function isShown(
  { status, closed_at, close_reason }: Pick<TerminalDocument, "status" | "closed_at" | "close_reason">,
  nowMs: number,
): boolean {
  if (status === "active") return true;
  if (close_reason === "closed" || close_reason === "server_lost") return false;
  // A clock that was set back since must not show it for ever.
  return Math.abs(nowMs - Date.parse(closed_at ?? "")) < shownMs;
}

/** The terminals of this process that ended within the last minute, up to 16 MiB of what they showed: the oldest go first. */
export class EndedTerminals {
  readonly #clock: Clock;
  readonly #mostBytes: number;
  readonly #kept = new Map<string, { terminal: LiveTerminal; bytes: number; timer: Timer }>();
  #bytes = 0;

  constructor(clock: Clock, mostBytes: number = keptBytes) {
    this.#clock = clock;
    this.#mostBytes = mostBytes;
  }

  keep(terminal: LiveTerminal): void {
    const { session_id } = terminal.document;
    const bytes = leastBytes + terminal.window.end - terminal.window.start;
    const timer = this.#clock.setTimer(shownMs, () => this.#drop(session_id));
    this.#kept.set(session_id, { terminal, bytes, timer });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#drop(oldest);
    }
  }

  find(sessionId: string): LiveTerminal | null {
    return this.#kept.get(sessionId)?.terminal ?? null;
  }

  clear(): void {
    for (const sessionId of this.#kept.keys()) this.#drop(sessionId);
  }

  #drop(sessionId: string): void {
    const kept = this.#kept.get(sessionId);
    kept?.timer.cancel();
    this.#bytes -= kept?.bytes ?? 0;
    this.#kept.delete(sessionId);
  }
}
