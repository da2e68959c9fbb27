/**
 * Which processes belong to a program that was started here, however they detach themselves: two ways to know, one small
 * file each beside this one.
 *
 * - `cgroup` (cgroup-scope.ts): the program is born in a cgroup of its own, which nothing in it leaves by itself.
 * - `subreaper` (marked-scope.ts): a mark in its environment, its session and its descendants, whose orphans come to us.
 */
import type { ProcessEntry } from "./process-table.ts";

/** What a program that is held is known by to a later life of its host. */
export interface HeldProgram {
  /** Random, so that it never comes again. */
  id: string;
  /** The first word of its command. */
  program: string;
  /** The start of the machine in which it runs. */
  boot: string;
  /** Its first process; null until it is started. */
  first: { pid: number; begun: number } | null;
  /** Its cgroup; null where it has none. */
  group: string | null;
}

/** What is known of a process that was started; without a number it could not be. */
export interface StartedProcess {
  readonly pid?: number | undefined;
}

/** The processes of one program. */
export interface ProgramScope {
  /** Its cgroup; null where it has none. */
  readonly group: string | null;
  /** Starts the program inside; `environment` is to be added to its own. */
  start<Child extends StartedProcess>(spawn: (environment: Readonly<Record<string, string>>) => Child): Child;
  /** Every process of it that lives; `all` are those of the machine. */
  members(all: readonly ProcessEntry[]): ProcessEntry[];
  /** Whether the last look for members could tell of each process; where not, one of them may be found by the next. */
  readonly isSure: boolean;
  /** Ends all of them at once, as far as the machine can. */
  kill(): void;
  /** Lets those that live go on for good: they belong to nobody's program any more. */
  letGo(): void;
  /** Takes away what only the scope needed. Called when nothing of the program lives in it. */
  remove(): void;
}

/** One way to know the processes of programs. */
export interface ProgramScopes {
  /** Makes the scope of a program that is about to be started. */
  create(held: HeldProgram): ProgramScope;
  /** The scopes of programs that an earlier life held, beside those that its notes name. */
  found(): HeldProgram[];
  /** Opens the scope of a program that an earlier life held. */
  open(held: HeldProgram): ProgramScope;
}
