/** The log of the process: a JSON object a line on standard error. */
import type { LogFields, Logger } from "fleetwright";
import { pino } from "pino";
import type { CommandContext } from "../context.ts";
import type { LogLevel } from "../log-level.ts";

/** Makes a logger; an `error` among the fields is written with its stack and its causes. */
export function createLogger(context: CommandContext, level: LogLevel): Logger {
  const log = pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err },
    },
    { write: (line) => context.stderr(line) },
  );
  const at =
    (name: Exclude<LogLevel, "silent">) =>
    (message: string, fields: LogFields = {}): void =>
      log[name](fields, message);
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
