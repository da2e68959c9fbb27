/** Writes what a terminal showed: asciicast, version 2, a line an event. */
import type { Clock } from "../clock.ts";
import type { Storage } from "../storage/storage.ts";
import { recordingOf, type TerminalDocument } from "./documents.ts";

/** What a recorder works with. */
interface RecorderParts {
  storage: Storage;
  clock: Clock;
}

export class Recorder {
  readonly #parts: RecorderParts;
  readonly #id: string;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #beganMs = 0;
  #size = 0;
  /** What waits for the write in progress. */
  #waiting = "";
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: RecorderParts, sessionId: string) {
    this.#parts = parts;
    this.#id = recordingOf(sessionId);
  }

  /** Bytes that were written. */
  get size(): number {
    return this.#size;
  }

  /** Begins the recording. */
  async begin(terminal: Pick<TerminalDocument, "cols" | "rows" | "opened_at" | "agent_name">): Promise<void> {
    this.#beganMs = this.#parts.clock.monotonic();
    const { cols, rows, opened_at, agent_name } = terminal;
    const timestamp = Math.floor(Date.parse(opened_at) / 1000);
    const env = { TERM: "xterm-256color" };
    await this.#write(
      `${JSON.stringify({ version: 2, width: cols, height: rows, timestamp, title: agent_name, env })}\n`,
    );
  }

  /** Resolves when the output is written. A character of which a part is still to come is written with the rest of it. */
  output(bytes: Uint8Array): Promise<void> {
    return this.#event("o", this.#decoder.decode(bytes, { stream: true }));
  }

  resized(cols: number, rows: number): Promise<void> {
    return this.#event("r", `${cols}x${rows}`);
  }

  /** Writes what is left. */
  async end(): Promise<void> {
    await this.#event("o", this.#decoder.decode());
    await this.#writing;
  }

  async #event(kind: "o" | "r", text: string): Promise<void> {
    if (text === "") return;
    const seconds = (this.#parts.clock.monotonic() - this.#beganMs) / 1000;
    await this.#write(`${JSON.stringify([Number(seconds.toFixed(6)), kind, text])}\n`);
  }

  /** Events that come while one is written go together into the next write. */
  #write(text: string): Promise<void> {
    this.#waiting += text;
    const next = this.#writing.then(() => this.#writeWaiting());
    this.#writing = next;
    return next;
  }

  async #writeWaiting(): Promise<void> {
    if (this.#waiting === "") return;
    const bytes = new TextEncoder().encode(this.#waiting);
    this.#waiting = "";
    this.#size = await this.#parts.storage.appendBlob(this.#id, bytes, this.#size);
  }
}
