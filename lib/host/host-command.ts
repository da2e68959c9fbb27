/** A program to run on a machine, and what came of it. */

/** A program to run: never a line for a shell to take apart. */
export interface HostCommand {
  argv: readonly [string, ...string[]];
  cwd?: string;
  /** The whole environment of the program beside PATH, HOME and LANG, which the host gives. */
  environment?: Readonly<Record<string, string>>;
  /**
   * Name of the user to run as, with the user's groups and HOME, USER, LOGNAME and SHELL, but no login session; absent = the
   * agent's own.
   */
  user?: string;
  stdin?: string;
  /** Permission bits that what it makes does not get. Default: 0o022, whatever those of the agent are. */
  umask?: number;
  /**
   * Paths that the program is to use, by a word that stands for one at the end of its arguments. The program is given a name
   * that nobody leads elsewhere; what it finds below a folder is its own affair.
   */
  opens?: Readonly<Record<string, string>>;
  /** Ends the program after this time. Absent = it may run until the signal ends it. */
  timeoutMs?: number;
  /**
   * Whether it is a question: the program tells something and changes nothing. Its output is then for who asked and nobody
   * else, and a plan asks it too. Default: no.
   */
  asks?: boolean;
  /** Whether it judges what is about to be written and changes nothing, such as `visudo -c`. A plan runs it on a copy. Default: no. */
  judges?: boolean;
  /** Output that is kept of each stream, bytes. Default 256 KiB. */
  maxOutputBytes?: number;
  /** Called with each piece of output as it comes, also with what the result has no room for. */
  onOutput?: (stream: "stdout" | "stderr", bytes: Uint8Array) => void;
}

/**
 * How a program ended. Output beyond {@link HostCommand.maxOutputBytes} a stream is dropped and marked: of stdout what came after,
 * of stderr what came before, since a program says last why it failed.
 */
export interface HostCommandResult {
  /** Null where a signal ended it. */
  exitCode: number | null;
  signal: string | null;
  timedOut: boolean;
  stdout: string;
  stderr: string;
  truncated: { stdout: boolean; stderr: boolean };
}

/** The process that a host is a part of, by what an init system knows it. */
export interface HostProcess {
  /**
   * It, and who started it unless that is the machine's first process. A number is given to another process one day: only with the
   * same begin, in ticks since the start of the machine, is it the same one.
   */
  line: readonly { pid: number; begun: number }[];
  /** The number of the user as whom it works. Absent where the system has none. */
  uid?: number;
  /** Its control groups, as paths from the root of their tree. Empty where it has none. */
  cgroups: readonly string[];
}

/** What an earlier life of a host left running. */
export interface LeftProgram {
  /** The first word of its command. */
  program: string;
  /** How many processes there were. */
  processes: number;
}
