/** PORT: programs that believe that they run at a terminal. */

/** What to run, and how. */
export interface PtyProgram {
  /** Absolute path of the program. */
  file: string;
  args: readonly string[];
  /** All of its environment. */
  environment: Readonly<Record<string, string>>;
  /** What its processes are known by, also after a restart: `<node_id>/<session_id>`. */
  mark: string;
  /** Absolute path of the folder in which it begins. */
  folder: string;
  /** Width and height in characters, 1 to 1,000 each. */
  cols: number;
  rows: number;
}

/** What is heard of a program at a pseudoterminal. */
export interface PtyHandlers {
  /** Bytes that it wrote, in order. */
  output(bytes: Uint8Array): void;
  /**
   * It ended, and all that it wrote has been handed over. Called once.
   *
   * @param exitCode - As a shell says it: 128 and the number of the signal where one ended it.
   */
  ended(exitCode: number): void;
}

/** A program at a pseudoterminal. */
export interface Pty {
  /** Process id, which is that of its session, too. */
  readonly pid: number;
  /** Bytes that were written and the program has not taken. */
  readonly unreadBytes: number;
  /** Types. Resolves when the terminal has taken the bytes; also where the program has ended. */
  write(bytes: Uint8Array): Promise<void>;
  resize(cols: number, rows: number): void;
  /** Asks for no more output: the program waits when the terminal is full. */
  pause(): void;
  resume(): void;
  /**
   * Tells the program and all that its session started that their terminal is gone (SIGHUP), as whoever closes a window does: a shell keeps
   * its history, an editor what was not saved. Nothing can be typed any more. What is left after 2.5 seconds is ended.
   */
  hangUp(): void;
  /** Ends the program with all that its session started. What it wrote before is still handed over, without waiting for {@link resume}. */
  kill(): void;
}

/** Starts programs at pseudoterminals. Throws where it can't be started. */
export type OpenPty = (program: PtyProgram, handlers: PtyHandlers) => Pty;
