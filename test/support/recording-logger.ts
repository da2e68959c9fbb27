import type { LogFields, Logger } from "../../lib/logger.ts";

/** Keeps what is logged, to be looked at. What says nothing is refused: whoever reads a log could make nothing of it. */
export class RecordingLogger implements Logger {
  readonly lines: { level: string; message: string; fields: LogFields | undefined }[] = [];

  debug(message: string, fields?: LogFields): void {
    this.#keep("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#keep("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#keep("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#keep("error", message, fields);
  }

  /** Messages of one level. */
  of(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }

  #keep(level: string, message: string, fields: LogFields | undefined): void {
    if (message === "") throw new Error(`A line of level ${level} says nothing.`);
    this.lines.push({ level, message, fields });
  }
}
