/**
 * What a host has started and not seen the end of, so that nothing of it is left when it is to be ended, also by a later
 * life after this one was killed:
 *
 * ```
 * noted (a file) ──> started ──ends by itself──> let go: what it left running on purpose lives on; the note is gone
 *                       └──abort, timeout──> SIGTERM to all ──grace──> SIGKILL to all until none is left; the note is gone
 * killed in between: the note stands, and the next life ends what it names
 * ```
 */
import type { ChildProcess } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CgroupScopes } from "./cgroup-scope.ts";
import type { HostCommand, LeftProgram } from "./host.ts";
import { becomeSubreaper } from "./local-subreaper.ts";
import { MarkedScopes } from "./marked-scope.ts";
import { bootOf, listProcesses, processAt, type ProcessEntry, signalProcess } from "./process-table.ts";
import type { HeldProgram, ProgramScope, ProgramScopes } from "./program-scope.ts";

/** How long what an older life left may take to end when asked, milliseconds. */
const leftGraceMs = 5000;

/** How long what was killed may take to be gone, milliseconds: what a disk holds up ends before it does anything more. */
const killedMs = 10_000;

/** Between two looks at whether all have ended, milliseconds: the first ones, and those of a long wait. */
const lookMs = 10;
const patientLookMs = 100;

/** How programs are known: in groups of the kernel, or by marks. */
export type ScopeKind = "cgroup" | "subreaper";

/** A program, from before its start until nothing more is to be done about it. */
export interface ProgramHold {
  /** Starts it; `environment` is to be added to its own. */
  start(spawn: (environment: Readonly<Record<string, string>>) => ChildProcess): ChildProcess;
  /** Asks it and everything that it started to end. */
  ask(): void;
  /**
   * Asks what it has started since, too, and kills what has not ended when the time for that is over; resolves when nothing of it
   * is left.
   */
  end(isTimeOver: () => boolean): Promise<void>;
  /** Lets go what it left running on purpose. */
  release(): void;
}

/** Groups for programs of a host with this state folder, whose next life ends what it finds in them; null where this process may make none. */
export function programGroups(stateFolder: string): ProgramScopes | null {
  const notes = notesOf(stateFolder);
  makeFolder(notes);
  return CgroupScopes.open(nameOf(notes));
}

/** The programs of one host. */
export class HeldPrograms {
  readonly #notes: string;
  readonly #kind: ScopeKind | undefined;
  #scopes: { acting: ProgramScopes; asking: ProgramScopes } | undefined;

  /**
   * @param stateFolder - Notes are kept in it, in `running`; programs of another folder are another agent's.
   * @param kind - Default: cgroups of version 2 where this process may make them, else marks.
   */
  constructor(stateFolder: string, kind?: ScopeKind) {
    this.#notes = notesOf(stateFolder);
    this.#kind = kind;
  }

  /** Prepares for a program. To enter a cgroup takes the kernel some milliseconds: too long for what only asks. */
  hold({ argv, asks = false }: HostCommand): ProgramHold {
    const scopes = this.#open();
    const held: HeldProgram = {
      id: randomUUID(),
      program: argv[0],
      boot: bootOf(),
      first: null,
      group: null,
    };
    const scope = (asks ? scopes.asking : scopes.acting).create(held);
    held.group = scope.group;
    this.#note(held);
    const done = (): void => this.#forget(held, scope);
    const asked = new Set<string>();
    const endAll = async (isTimeOver: () => boolean): Promise<void> => {
      await askUntilEmpty(scope, asked, isTimeOver);
      await killAll(scope);
      done();
    };
    let ended: Promise<void> | undefined;
    return {
      start: (spawn) => {
        try {
          const child = scope.start(spawn);
          held.first = child.pid === undefined ? null : processAt(child.pid);
          if (held.first) this.#note(held);
          return child;
        } catch (error) {
          done();
          throw error;
        }
      },
      ask: () => askEach(scope.members(listProcesses()), asked),
      // Once for all who ask: a second loop would go on after the first has told the end.
      end: (isTimeOver) => (ended ??= endAll(isTimeOver)),
      release() {
        scope.letGo();
        done();
      },
    };
  }

  /** Ends what an earlier life left running; resolves when it is gone, with what it was. */
  async endLeft(): Promise<LeftProgram[]> {
    const { acting, asking } = this.#open();
    const noted = this.#readNotes();
    const known = new Set(noted.map(({ id }) => id));
    const found = acting.found().filter(({ id }) => !known.has(id));
    const left: LeftProgram[] = [];
    for (const held of [...noted, ...found]) {
      const scope = (held.group === null ? asking : acting).open(held);
      const members = scope.members(listProcesses());
      if (members.length > 0) left.push({ program: held.program, processes: members.length });
      const asked = new Set<string>();
      askEach(members, asked);
      const deadline = performance.now() + leftGraceMs;
      await askUntilEmpty(scope, asked, () => performance.now() >= deadline);
      await killAll(scope);
      this.#forget(held, scope);
    }
    return left;
  }

  #open(): { acting: ProgramScopes; asking: ProgramScopes } {
    this.#scopes ??= this.#choose();
    return this.#scopes;
  }

  #choose(): { acting: ProgramScopes; asking: ProgramScopes } {
    makeFolder(this.#notes);
    const groups = this.#kind === "subreaper" ? null : CgroupScopes.open(nameOf(this.#notes));
    if (groups) return { acting: groups, asking: new MarkedScopes(null) };
    const marked = new MarkedScopes(becomeSubreaper());
    return { acting: marked, asking: marked };
  }

  /** Without it the next life does not know of the program; a full disk must not keep it from running. */
  #note(held: HeldProgram): void {
    try {
      writeFileSync(this.#pathOf(held), JSON.stringify(held), { mode: 0o600 });
    } catch {
      // Groups are found by their place as well.
    }
  }

  #forget(held: HeldProgram, scope: ProgramScope): void {
    scope.remove();
    try {
      rmSync(this.#pathOf(held), { force: true });
    } catch {
      // The folder is read-only now: what is noted there has ended, and no process is found for it.
    }
  }

  #readNotes(): HeldProgram[] {
    return listNames(this.#notes).flatMap((id) => {
      try {
        return { ...(JSON.parse(readFileSync(join(this.#notes, id), "utf8")) as HeldProgram), id };
      } catch {
        // Killed while it was written, so the program is not started yet, or known by its mark.
        return { id, program: "a program", boot: bootOf(), first: null, group: null };
      }
    });
  }

  #pathOf({ id }: HeldProgram): string {
    return join(this.#notes, id);
  }
}

function signalAll(scope: ProgramScope, name: NodeJS.Signals): void {
  for (const member of scope.members(listProcesses())) signalProcess(member, name);
}

/** Again and again: who is killed may have started another in between. */
async function killAll(scope: ProgramScope): Promise<void> {
  const deadline = performance.now() + killedMs;
  for (;;) {
    scope.kill();
    signalAll(scope, "SIGKILL");
    if (isEmpty(scope) || performance.now() > deadline) return;
    await pause(lookMs);
  }
}

/** Asks members to end, each once: to be asked again is a threat to some programs. */
function askEach(members: readonly ProcessEntry[], asked: Set<string>): void {
  for (const member of members) {
    const name = `${member.pid} ${member.begun}`;
    if (!asked.has(name)) signalProcess(member, "SIGTERM");
    asked.add(name);
  }
}

/**
 * Asks whoever is left without a parent, too: it was started while the others were asked. What one of them starts to put things in
 * order, and waits for, is let be.
 */
async function askUntilEmpty(
  scope: ProgramScope,
  asked: Set<string>,
  isTimeOver: () => boolean,
): Promise<void> {
  for (let waitMs = lookMs; !isTimeOver(); waitMs = Math.min(2 * waitMs, patientLookMs)) {
    const members = scope.members(listProcesses());
    if (members.length === 0 && scope.isSure) return;
    const living = new Set(members.map(({ pid }) => pid));
    askEach(
      members.filter(({ parent }) => !living.has(parent)),
      asked,
    );
    await pause(waitMs);
  }
}

function isEmpty(scope: ProgramScope): boolean {
  return scope.members(listProcesses()).length === 0 && scope.isSure;
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[0-9a-f-]{36}$/.test(name));
  } catch {
    return [];
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch {
    // As for a note that can't be written.
  }
}

function notesOf(stateFolder: string): string {
  return join(stateFolder, "running");
}

/** The same for every path to the folder. */
function nameOf(folder: string): string {
  let real = folder;
  try {
    real = realpathSync(folder);
  } catch {
    // It could not be made.
  }
  return createHash("sha256").update(real).digest("hex").slice(0, 16);
}
