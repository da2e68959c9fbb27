/** What a command sees of the process that runs it. */
import type { LogTarget } from "./log-sink.ts";

/** The surroundings of one run of the command line; a test brings its own. */
export interface CommandContext {
  /** Results: what a pipe gets. */
  stdout(text: string): void;
  /** Errors and notices. */
  stderr(text: string): void;
  /** Takes the log of a server or an agent. Default: `stderr`. */
  readonly log?: LogTarget;
  /** Environment variables. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Reads standard input to its end. */
  readInput(): Promise<string>;
  /** Whether results go to a terminal, which may be coloured and has a width. Default false. */
  readonly isOutputTerminal?: boolean;
  /** Columns of that terminal. Default 80. */
  readonly columns?: number;
  /**
   * Puts a question to somebody at a terminal and resolves with the line that they type; null where they end it with Ctrl-C or
   * Ctrl-D. Absent where nobody can be asked, because standard input or standard error is no terminal.
   */
  readonly ask?: (question: string) => Promise<string | null>;
  /** The same for a secret, which is not shown while it is typed. Absent where nobody can be asked. */
  readonly askSecret?: (question: string) => Promise<string | null>;
  /**
   * Resolves when the process is asked to end, or when nobody wants to know any more. Until it is called, a signal ends the
   * process at once.
   */
  untilStopped(unwanted?: AbortSignal): Promise<void>;
  /** The same for the time after {@link untilStopped} has resolved: somebody does not want to wait. */
  untilHurried(unwanted: AbortSignal): Promise<void>;
  /** Has this said on standard error where a signal ends the process, which it does as before. Returns what takes that back. */
  readonly sayWhenEnded?: (text: string) => () => void;
}

/** Exit codes, explained in docs/command-line.md. */
export const exitCode = {
  ok: 0,
  failure: 1,
  usage: 2,
  /** A plan would change something, or a machine has drifted. */
  differs: 3,
  notSignedIn: 4,
  /** An operation had not ended when the command stopped waiting. */
  unfinished: 5,
} as const;

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode];
