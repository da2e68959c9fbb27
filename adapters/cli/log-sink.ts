/** Where the log of a process goes: written beside its work, and never a reason for it to end or to wait. */
import { constants, fstatSync, openSync, write } from "node:fs";
import { codeOf } from "../client/system-error.ts";

/** Lines that may wait for a disk or a reader that is slow, bytes. */
const maxWaitingBytes = 1_048_576;
/** How long a reader that takes nothing now is left alone, milliseconds. */
const againMs = 100;
/** How often what is lost is told by itself, where nothing else is to be written, milliseconds. */
const tellAgainMs = 1_000;

/** Takes the lines of a log. */
export interface LogTarget {
  /** Takes one line with its line break. Never throws, never waits. */
  write(line: string): void;
  /** Why lines are being lost now, as a system error's name; null while each is written. */
  fault(): string | null;
}

/** Writes a piece, and tells how many bytes of it were taken or what went wrong. Never blocks. */
export type LogOutput = (
  bytes: Uint8Array,
  done: (error: NodeJS.ErrnoException | null, written: number) => void,
) => void;

/**
 * Writes lines to an open file, pipe or terminal, one write at a time, in their order. A line that can't be written is dropped and
 * counted, whether the disk is full or failed, or whoever reads has stopped; the first line that gets through again is
 * preceded by one that says how many are missing.
 */
export class LogSink implements LogTarget {
  readonly #open: () => LogOutput;
  #output: LogOutput | null = null;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #lost = 0;
  #fault: string | null = null;
  /** Whether what was written last ends within a line. */
  #isTorn = false;
  #triedAt = -Infinity;

  /** @param open - Gives the output, when the first line is written. */
  constructor(open: () => LogOutput) {
    this.#open = open;
  }

  /** Lines that are lost are told as soon as they can be: it is tried here, at most once a second. */
  fault(): string | null {
    const now = performance.now();
    if (this.#lost > 0 && !this.#isWriting && now - this.#triedAt >= tellAgainMs) {
      this.#triedAt = now;
      this.#write([]);
    }
    return this.#fault;
  }

  write(line: string): void {
    if (this.#waitingBytes + line.length > maxWaitingBytes) {
      this.#lose(1, "EAGAIN");
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    if (!this.#isWriting) this.#next();
  }

  /** Writes what waits, together. */
  #next(): void {
    const lines = this.#waiting;
    this.#isWriting = lines.length > 0;
    if (!this.#isWriting) return;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#write(lines);
  }

  #write(lines: readonly string[]): void {
    this.#isWriting = true;
    const missing = this.#lost === 0 ? "" : toLossLine(this.#lost, this.#fault);
    const text = `${this.#isTorn ? "\n" : ""}${missing}${lines.join("")}`;
    this.#put(Buffer.from(text), { at: 0, lines: lines.length, told: this.#lost });
  }

  #put(bytes: Buffer, batch: { at: number; lines: number; told: number }): void {
    this.#output ??= this.#open();
    this.#output(bytes.subarray(batch.at), (error, written) => {
      if (error?.code === "EAGAIN") return this.#wait(bytes, batch);
      if (error) {
        this.#isTorn ||= batch.at > 0;
        this.#lose(batch.lines, codeOf(error));
        return this.#next();
      }
      const at = batch.at + written;
      if (at < bytes.length) return this.#put(bytes, { ...batch, at });
      this.#isTorn = false;
      this.#lost -= batch.told;
      if (this.#lost === 0) this.#fault = null;
      this.#next();
    });
  }

  /** The pipe or terminal is full. The log alone keeps no process alive. */
  #wait(bytes: Buffer, batch: { at: number; lines: number; told: number }): void {
    this.#fault = "EAGAIN";
    setTimeout(() => this.#put(bytes, batch), againMs).unref();
  }

  #lose(lines: number, reason: string): void {
    this.#lost += lines;
    this.#fault = reason;
  }
}

/** Writes to an open file, as far as it takes something. */
export function toFile(fd: number): LogOutput {
  return (bytes, done) => write(fd, bytes, done);
}

/**
 * Standard error, for writing that never blocks: a pipe that nobody reads would hold a thread of the process, and its end. A
 * pipe or terminal is opened anew for that, because the flag of the one that was given is shared with other processes.
 */
export function openStandardError(): LogOutput {
  const given = 2;
  const { O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;
  try {
    const stats = fstatSync(given);
    if (stats.isFIFO() || stats.isCharacterDevice())
      return toFile(openSync("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY));
    // A socket, as the journal of systemd gives: Node never blocks on one.
    if (stats.isSocket())
      return (bytes, done) => process.stderr.write(bytes, (error) => done(error ?? null, bytes.length));
  } catch {
    // As it was given, then.
  }
  return toFile(given);
}

function toLossLine(lines: number, reason: string | null): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: "warn", time, lines, reason, msg: "Lines of the log were lost." })}\n`;
}
