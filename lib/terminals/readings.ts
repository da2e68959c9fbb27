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
  /** When each was begun to be told, by the clock that never goes back, and when that is on disk; the oldest first. */
  readonly #told = new Map<string, { atMs: number; done: Promise<unknown> }>();

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Tells that somebody reads a recording. Resolves when that is on disk, also where another call of the same reading tells it.
   *
   * @throws {OrchestratorError} Of the storage: nothing may be shown then.
   */
  async tell(caller: Caller, terminal: Readonly<TerminalDocument>, form: ReadingForm): Promise<void> {
    const key = keyOf(caller, terminal.session_id, form);
    const now = this.#context.clock.monotonic();
    let told = this.#told.get(key);
    if (told === undefined || now - told.atMs >= sameReadingMs) {
      told = { atMs: now, done: this.#commit(caller, terminal, form) };
      this.#remember(key, told);
    }
    try {
      await told.done;
    } catch (error) {
      // The next call tells it.
      if (this.#told.get(key) === told) this.#told.delete(key);
      throw error;
    }
  }

  #commit(caller: Caller, terminal: Readonly<TerminalDocument>, form: ReadingForm): Promise<unknown> {
    const { session_id, node_id, operator_id, username, agent_name } = terminal;
    const reader = toSubject(caller).name;
    return this.#context.commit(caller, [], {
      type: "terminal.transcriptRead",
      target: { type: "terminal", id: session_id, name: agent_name },
      severity: isOpener(caller, terminal) ? "info" : "warning",
      summary: `${reader} reads the transcript of the terminal of ${username} on ${agent_name}`,
      metadata: { session_id, node_id, operator_id, form },
    });
  }

  #remember(key: string, told: { atMs: number; done: Promise<unknown> }): void {
    this.#told.delete(key);
    this.#told.set(key, told);
    if (this.#told.size <= maxReadings) return;
    const [oldest] = this.#told.keys();
    this.#told.delete(oldest!);
  }
}

function keyOf(caller: Caller, sessionId: string, form: ReadingForm): string {
  const who = caller.kind === "operator" ? [caller.operator_id, caller.session_id] : [caller.kind, ""];
  return JSON.stringify([...who, caller.origin?.source_address ?? "", sessionId, form]);
}
