import type { Host, HostCommand } from "../host/host.ts";

/** A host to try, with a folder that is empty and its own. */
export interface HostUnderTest {
  host: Host;
  /** Absolute path of the empty folder, as the host names it. */
  folder: string;
  /**
   * Programs: one that prints its standard input and ends well, one that exits with 3, one that waits for minutes.
   */
  programs: { echo: HostCommand["argv"]; fail: HostCommand["argv"]; wait: HostCommand["argv"] };
  /**
   * Addresses: one that gives the text "hello" after a redirect, one where nothing is, one whose answer never ends, however
   * long one waits.
   */
  urls: { hello: string; none: string; endless: string };
  /**
   * With the capability "families": a program that starts others and waits for minutes, how many these are, and how many run. Among
   * them should be one that another one of them started, one that detached itself and one that ignores SIGTERM.
   */
  family?: {
    argv: HostCommand["argv"];
    size: number;
    /** How many of them run now. */
    running: () => number;
  };
  /** With the capability "root": a path of the machine outside the root, and what the host calls a link to it. */
  outside?: { target: string };
  /** With the capability "links": gives a file another name. */
  hardLink?: (path: string, name: string) => void;
  /** With the capability "held": says whether a file or folder may be changed. */
  setImmutable?: (path: string, isImmutable: boolean) => void;
}

/** One promise of the port, tried once. */
export interface HostCase {
  promise: number;
  name: string;
  /** "root": a root folder stands for the machine. "owners": folders can be given to other users, which takes root. */
  needs?: "root" | "owners" | "extras" | "links" | "held" | "families";
  run(given: HostUnderTest): void | Promise<void>;
}
