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

const levels = ["debug", "info", "warn", "error"] as const;

/**
 * The same logger for whoever must not fail with it: what a level failed with is its fault until that, or one above it, takes a line. One
 * below it says nothing: it may be left out.
 */
export function toSteadyLogger(logger: Logger): Logger {
  const lost = new Map<number, string>();
  const level = (rank: 0 | 1 | 2 | 3): Logger["error"] => {
    const fail = (error: unknown): void => void lost.set(rank, codeOf(error));
    return (...line) => {
      try {
        const told: unknown = logger[levels[rank]](...line);
        for (const each of lost.keys()) if (each <= rank) lost.delete(each);
        if (told instanceof Promise) told.catch(fail);
      } catch (error) {
        fail(error);
      }
    };
  };
  const fault = (): string | null => {
    const [first = null] = lost.values();
    try {
      return logger.fault?.() ?? first;
    } catch (error) {
      return codeOf(error);
    }
  };
  return { debug: level(0), info: level(1), warn: level(2), error: level(3), fault };
}

/** What an error is called, without its text: that may hold what was to be logged. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "Error";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
