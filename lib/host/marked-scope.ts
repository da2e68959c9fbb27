/**
 * Programs that are known by a mark in their environment, which whatever they start inherits, by their sessions and by their
 * descendants. Where this process adopts orphans, what threw the mark away and detached itself is found among its children.
 *
 * What no program can hide behind for long: a mark that was thrown away needs a new session and a dead parent as well, and a
 * host that adopts nothing, or was killed.
 */
import type { Subreaper } from "./local-subreaper.ts";
import {
  bootOf,
  environmentOf,
  listProcesses,
  processAt,
  type ProcessEntry,
  withDescendants,
} from "./process-table.ts";
import type { HeldProgram, ProgramScope, ProgramScopes, StartedProcess } from "./program-scope.ts";

/** The variable that holds the mark. */
export const markVariable = "FLEETWRIGHT_PROGRAM";

/** The variable that holds the mark of a terminal's processes, `<node_id>/<session_id>`: they are nobody's strays. */
export const terminalVariable = "FLEETWRIGHT_TERMINAL";

/** Programs by their marks. */
export class MarkedScopes implements ProgramScopes {
  readonly #subreaper: Subreaper | null;
  /** What adopted processes were let go, by number. */
  #released = new Map<number, ProcessEntry>();

  /** @param subreaper - Null where this process adopts nothing. */
  constructor(subreaper: Subreaper | null) {
    this.#subreaper = subreaper;
  }

  create(held: HeldProgram): ProgramScope {
    return new MarkedScope(held, this);
  }

  open(held: HeldProgram): ProgramScope {
    return new MarkedScope(held, this);
  }

  found(): HeldProgram[] {
    return [];
  }

  /**
   * Orphans that began after a time, live and bear no mark: nobody's but the program's that ran then. One that has ended can't
   * be asked for its mark, and its session may be another program's; so may be one whose mark can't be told yet.
   */
  strayOrphans(sinceBegun: number): ProcessEntry[] {
    const sessions = new Set([...this.#released.values()].map(({ session }) => session));
    const own = processAt(process.pid)?.session;
    return (this.#subreaper?.adopted() ?? []).filter(
      ({ pid, session, begun, isZombie, isEnding }) =>
        !isZombie &&
        !isEnding &&
        begun >= sinceBegun &&
        session !== own &&
        !sessions.has(session) &&
        this.#released.get(pid)?.begun !== begun &&
        [markVariable, terminalVariable].every((name) => environmentOf(pid, name) === null),
    );
  }

  /** Lets all that is adopted now live on. */
  release(): void {
    const adopted = this.#subreaper?.adopted() ?? [];
    const all = adopted.length > 0 ? withDescendants(adopted, listProcesses()) : [];
    this.#released = new Map(all.map((entry) => [entry.pid, entry]));
  }

  /** Takes note of the end of what was adopted. */
  reap(members: readonly ProcessEntry[]): void {
    const adopted = new Set(this.#subreaper?.adopted().map(({ pid }) => pid));
    for (const { pid, isZombie } of members) if (isZombie && adopted.has(pid)) this.#subreaper?.reap(pid);
  }
}

/** One mark. */
class MarkedScope implements ProgramScope {
  readonly group = null;
  readonly #held: HeldProgram;
  readonly #scopes: MarkedScopes;
  #isOwn = false;
  #isSure = true;

  constructor(held: HeldProgram, scopes: MarkedScopes) {
    this.#held = held;
    this.#scopes = scopes;
  }

  start<Child extends StartedProcess>(
    spawn: (environment: Readonly<Record<string, string>>) => Child,
  ): Child {
    const child = spawn({ [markVariable]: this.#held.id });
    this.#isOwn = true;
    return child;
  }

  members(all: readonly ProcessEntry[]): ProcessEntry[] {
    const { id, first, boot } = this.#held;
    if (boot !== bootOf()) return [];
    const isFirst = ({ pid, begun }: ProcessEntry): boolean => pid === first?.pid && begun === first.begun;
    // What began before the program is none of it.
    const young = all.filter(({ begun }) => !first || begun >= first.begun);
    const marks = new Map(young.map(({ pid }) => [pid, environmentOf(pid, markVariable)]));
    const some = young.filter((entry) => isFirst(entry) || marks.get(entry.pid) === id);
    if (this.#isOwn && first) some.push(...this.#scopes.strayOrphans(first.begun));
    const members = withDescendants(some, all);
    const found = new Set(members.map(({ pid }) => pid));
    this.#isSure = young.every(({ pid }) => marks.get(pid) !== undefined || found.has(pid));
    this.#scopes.reap(members);
    return members.filter(({ isZombie }) => !isZombie);
  }

  get isSure(): boolean {
    return this.#isSure;
  }

  kill(): void {
    // Nothing ends them all at once; whoever calls this ends the members one by one.
  }

  letGo(): void {
    this.#scopes.release();
  }

  remove(): void {
    // A mark is nowhere but in the processes.
  }
}
