/**
 * Writes what a terminal showed: asciicast, version 2, a line an event.
 *
 * What is written outlives this process from then on; it is synced behind its back, once a second while anything comes, and at the end.
 */
import type { Clock, Timer } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import type { BlobWriter, Storage } from "../storage/storage.ts";
import { recordingOf, type TerminalDocument } from "./documents.ts";

const syncMs = 1_000;

/** What a recorder works with. */
export interface RecorderParts {
  context: { storage: Storage; clock: Clock };
  /** Whether the terminal is this process's still: else another has written its end, and the hash of what was recorded by then. */
  keeps: (sessionId: string) => Promise<boolean>;
}

/** What a recording tells of its terminal. */
type Recorded = Pick<TerminalDocument, "cols" | "rows" | "opened_at" | "agent_name">;

export class Recorder {
  readonly #parts: RecorderParts;
  readonly #sessionId: string;
  readonly #failed: (error: unknown) => void;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #beginning: Promise<void> = Promise.resolve();
  #writer: BlobWriter | null = null;
  #beganMs = 0;
  #size = "";
  #sync: Timer | null = null;

  /** @param failed - Called where what was written could not be synced: nothing more can be written. */
  constructor(parts: RecorderParts, sessionId: string, failed: (error: unknown) => void) {
    this.#parts = parts;
    this.#sessionId = sessionId;
    this.#failed = failed;
  }

  /** Bytes that were written. */
  get size(): number {
    return this.#writer?.size ?? 0;
  }

  /** Begins the recording, so that a loss of power leaves the beginning. */
  begin(terminal: Recorded): Promise<void> {
    return (this.#beginning = this.#begin(terminal));
  }

  async #begin(terminal: Recorded): Promise<void> {
    this.#beganMs = this.#parts.context.clock.monotonic();
    this.#writer = await this.#parts.context.storage.openBlob(recordingOf(this.#sessionId));
    const { cols, rows, opened_at, agent_name } = terminal;
    this.#size = sizeText(cols, rows);
    const timestamp = Math.floor(Date.parse(opened_at) / 1000);
    const env = { TERM: "xterm-256color" };
    await this.#write(
      `${JSON.stringify({ version: 2, width: cols, height: rows, timestamp, title: agent_name, env })}\n`,
    );
    await this.#writer.sync();
  }

  /** Resolves when the output is written. A character of which a part is still to come is written with the rest of it. */
  output(bytes: Uint8Array): Promise<void> {
    return this.#event("o", this.#decoder.decode(bytes, { stream: true }));
  }

  /** Resolves when a new size is written. One that it already has is no event: whoever attaches says its size, also when it is the same. */
  async resized(cols: number, rows: number): Promise<void> {
    const size = sizeText(cols, rows);
    if (size === this.#size) return;
    this.#size = size;
    await this.#event("r", size);
  }

  /** Writes what is left, durably. */
  async end(): Promise<void> {
    await this.#beginning.catch(() => {});
    try {
      if (this.#writer !== null) await this.#event("o", this.#decoder.decode());
    } finally {
      this.#sync?.cancel();
      await this.#writer?.close();
    }
  }

  async #event(kind: "o" | "r", text: string): Promise<void> {
    if (text === "") return;
    const seconds = (this.#parts.context.clock.monotonic() - this.#beganMs) / 1000;
    await this.#write(`[${seconds.toFixed(6)},"${kind}",${JSON.stringify(text)}]\n`);
  }

  async #write(line: string): Promise<void> {
    // Never past a recording that has not begun: what is not written must not be shown.
    if (this.#writer === null)
      throw new OrchestratorError("INTERNAL", { message: "The recording has not begun." });
    if (!(await this.#parts.keeps(this.#sessionId)))
      throw new OrchestratorError("CANCELLED", { message: "Another process has written how it ended." });
    await this.#writer.append(Buffer.from(line));
    this.#sync ??= this.#parts.context.clock.setTimer(syncMs, () => {
      this.#sync = null;
      this.#writer?.sync().catch(this.#failed);
    });
  }
}

function sizeText(cols: number, rows: number): string {
  return `${cols}x${rows}`;
}
