/** The log of the process: a JSON object a line on standard error. */
import { pino } from "pino";
import type { LogFields, Logger } from "fleetwright";
import type { CommandContext } from "../context.ts";
import type { LogLevel } from "../log-level.ts";
import { LineBudget } from "./line-budget.ts";

/**
 * Makes a logger; an `error` among the fields is written with its stack and its causes. A line that comes over and over,
 * which strangers can cause, is left out and counted past 100 times in ten seconds.
 */
export function createLogger(context: CommandContext, level: LogLevel): Logger {
  const log = pino(
    {
      level,
      base: null,
      formatters: { level: (label) => ({ level: label }) },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: pino.stdSerializers.err },
    },
    context.log ?? { write: (line) => context.stderr(line) },
  );
  const budget = new LineBudget((message, lines) =>
    log.warn({ message, lines }, "Lines that came too often were left out of the log."),
  );
  const at =
    (name: Exclude<LogLevel, "silent">) =>
    (message: string, fields: LogFields = {}): void => {
      if (log.isLevelEnabled(name) && budget.take(message)) log[name](fields, message);
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    fault: () => context.log?.fault() ?? null,
  };
}
