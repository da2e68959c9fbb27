/**
 * Has the audit log tell who reads the recordings of terminals, before they see any of it.
 *
 * A player that is wound back, a page that is loaded anew and a search that is typed letter by letter are calls of their own, but one reading: an
 * event for each would bury what else the log has. So the same reading is told once in five minutes: by the same session of the same operator,
 * from the same address, of the same terminal and in the same form. Each process remembers its own; where it forgets, there is an event more.
 */
import { toSubject, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import type { TerminalDocument } from "./documents.ts";
import { isOpener } from "./terminal-service.ts";

const sameReadingMs = 300_000;
/** Readings that are remembered; past it the oldest is forgotten. */
const maxReadings = 1_000;

/** What is read of a recording: all of it, its text, or the lines in which something stands. */
export type ReadingForm = "asciicast" | "text" | "search";

export class Readings {
  readonly #context: Context;
  /** When each was told, by the clock that never goes back; the oldest first. */
  readonly #told = new Map<string, number>();

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Tells that somebody reads a recording. Resolves when that is on disk.
   *
   * @throws {OrchestratorError} Of the storage: nothing may be shown then.
   */
  async tell(caller: Caller, terminal: Readonly<TerminalDocument>, form: ReadingForm): Promise<void> {
    const { clock } = this.#context;
    const key = keyOf(caller, terminal.session_id, form);
    const toldAt = this.#told.get(key) ?? -Infinity;
    if (clock.monotonic() - toldAt < sameReadingMs) return;
    const { session_id, node_id, operator_id, username, agent_name } = terminal;
    const reader = toSubject(caller).name;
    await this.#context.commit(caller, [], {
      type: "terminal.transcriptRead",
      target: { type: "terminal", id: session_id, name: agent_name },
      severity: isOpener(caller, terminal) ? "info" : "warning",
      summary: `${reader} reads the transcript of the terminal of ${username} on ${agent_name}`,
      metadata: { session_id, node_id, operator_id, form },
    });
    this.#remember(key);
  }

  #remember(key: string): void {
    this.#told.delete(key);
    this.#told.set(key, this.#context.clock.monotonic());
    if (this.#told.size <= maxReadings) return;
    const [oldest] = this.#told.keys();
    this.#told.delete(oldest!);
  }
}

function keyOf(caller: Caller, sessionId: string, form: ReadingForm): string {
  const who = caller.kind === "operator" ? [caller.operator_id, caller.session_id] : [caller.kind, ""];
  return JSON.stringify([...who, caller.origin?.source_address ?? "", sessionId, form]);
}
