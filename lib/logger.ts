/** Where the package reports what an operator of the process may want to know. Fields never hold secrets. */
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
