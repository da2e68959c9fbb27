import type { LogFields, Logger } from "../../lib/logger.ts";

/** Keeps what is logged, to be looked at. */
export class RecordingLogger implements Logger {
  readonly lines: { level: string; message: string; fields: LogFields | undefined }[] = [];

  debug(message: string, fields?: LogFields): void {
    this.lines.push({ level: "debug", message, fields });
  }

  info(message: string, fields?: LogFields): void {
    this.lines.push({ level: "info", message, fields });
  }

  warn(message: string, fields?: LogFields): void {
    this.lines.push({ level: "warn", message, fields });
  }

  error(message: string, fields?: LogFields): void {
    this.lines.push({ level: "error", message, fields });
  }

  /** Messages of one level. */
  of(level: string): string[] {
    return this.lines.filter((line) => line.level === level).map((line) => line.message);
  }
}
