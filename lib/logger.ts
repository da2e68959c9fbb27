/**
 * Where the package reports what an operator of the process may want to know. Fields never hold secrets. A line that a method throws at, or
 * rejects a promise for, is lost; what was to be told of is done all the same.
 */
export interface Logger {
  /** For who looks for a fault. */
  debug(message: string, fields?: LogFields): void;
  /** What happens when all is well. */
  info(message: string, fields?: LogFields): void;
  /** What somebody should look at one day. */
  warn(message: string, fields?: LogFields): void;
  /** What somebody should look at now. */
  error(message: string, fields?: LogFields): void;
  /** Why lines are being lost now, e.g. "ENOSPC"; null while each is written. Makes the status `degraded`. Default: null. */
  fault?(): string | null;
}

/** Facts beside a log line; `error` is written with its stack. */
export type LogFields = Record<string, unknown>;

/** Drops everything: the default of an embedded orchestrator. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
};

/** The same logger for whoever must not fail with it: what it failed with is its fault until it takes a line again. */
export function toSteadyLogger(logger: Logger): Logger {
  let lost: string | null = null;
  const level = (name: "debug" | "info" | "warn" | "error"): Logger["error"] => {
    const fail = (error: unknown): void => {
      lost = codeOf(error);
    };
    return (...line) => {
      try {
        const told: unknown = logger[name](...line);
        if (told instanceof Promise) told.catch(fail);
        lost = null;
      } catch (error) {
        fail(error);
      }
    };
  };
  const fault = (): string | null => logger.fault?.() ?? lost;
  return { debug: level("debug"), info: level("info"), warn: level("warn"), error: level("error"), fault };
}

/** What an error is called, without its text: that may hold what was to be logged. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "Error";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
