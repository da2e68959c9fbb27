/** The log of the process: a JSON object a line on standard error. */
import type { LogFields, Logger } from "fleetwright";
import { Option } from "commander";
import { pino } from "pino";
import type { CommandContext } from "./context.ts";

/** How much is logged, from most to nothing. */
export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;

/** One of {@link logLevels}. */
export type LogLevel = (typeof logLevels)[number];

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

/** `--log-level`. */
export function logLevelOption(): Option {
  return new Option("--log-level <level>", "how much is logged").choices(logLevels);
}
