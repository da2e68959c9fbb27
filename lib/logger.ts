/** Where the package reports what an operator of the process may want to know. Fields never hold secrets. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
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
