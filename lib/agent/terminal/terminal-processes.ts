/**
 * The processes of terminals: each terminal's bear its mark in their environment, are of its session, and in its group where there are
 * groups. Those of an agent's earlier life are known by the mark; the host ends what is left in a group.
 */
import { terminalVariable } from "../../host/marked-scope.ts";
import {
  environmentOf,
  listProcesses,
  processAt,
  type ProcessEntry,
  signalProcess,
  withDescendants,
} from "../../host/process-table.ts";
import type { ProgramScope } from "../../host/program-scope.ts";

/** Looks for members again so often: one that starts another while it is ended has its last seen. */
const mostRounds = 20;

/** The processes of one terminal. */
export class TerminalProcesses {
  readonly #mark: string;
  readonly #first: Pick<ProcessEntry, "pid" | "begun">;
  readonly #group: ProgramScope | null;

  /**
   * Its first, with its session and descendants, whatever bears its mark, and all of its group.
   *
   * @param parts - `first` as it was when it began: until it has become the program it has neither a session of its own nor the mark. By then
   *   another may have its number. `group` is null where it has none: what has a new session, no parent that lives and no mark goes on then.
   */
  constructor(
    mark: string,
    { first, group }: { first: Pick<ProcessEntry, "pid" | "begun">; group: ProgramScope | null },
  ) {
    this.#mark = mark;
    this.#first = first;
    this.#group = group;
  }

  /** Tells them that their terminal is gone. One that is stopped is woken, or it would not hear of it. */
  hangUp(): void {
    for (const member of this.#members())
      for (const signal of ["SIGHUP", "SIGCONT"] as const) signalProcess(member, signal);
  }

  /** Whether any of them lives. */
  areLeft(): boolean {
    return this.#members().length > 0;
  }

  /** Ends every one. */
  end(): void {
    this.#group?.kill();
    endAll(this.#belonging(), this.#group);
  }

  #members(): ProcessEntry[] {
    return membersAmong(listProcesses(), this.#belonging(), this.#group).members;
  }

  #belonging(): Belongs {
    const first = this.#first;
    const now = processAt(first.pid);
    const isAnother = now !== null && now.begun !== first.begun;
    return ({ pid, session, begun }) =>
      (session === first.pid && !isAnother) ||
      (pid === first.pid && begun === first.begun) ||
      belongsByMark(pid, (found) => found === this.#mark);
  }
}

/** Ends what terminals of an agent's earlier life left running. Returns how many processes. */
export function endLeftTerminals(nodeId: string): number {
  return endAll(({ pid }) => belongsByMark(pid, (found) => found.startsWith(`${nodeId}/`)));
}

/** Whether a process is to be ended; undefined where that can't be told until it has taken on the program that it executes. */
type Belongs = (entry: ProcessEntry) => boolean | undefined;

function belongsByMark(pid: number, isOurs: (mark: string) => boolean): boolean | undefined {
  const mark = environmentOf(pid, terminalVariable);
  return typeof mark === "string" ? isOurs(mark) : mark === null ? false : undefined;
}

/** Those that live; and whether it can't be told of some. */
function membersAmong(
  all: ProcessEntry[],
  belongs: Belongs,
  group: ProgramScope | null,
): { members: ProcessEntry[]; areUnsure: boolean } {
  const answers = all.map(belongs);
  const some = [...all.filter((_entry, index) => answers[index] === true), ...(group?.members(all) ?? [])];
  const members = withDescendants(some, all).filter(({ isZombie }) => !isZombie);
  return { members, areUnsure: answers.includes(undefined) };
}

function endAll(belongs: Belongs, group: ProgramScope | null = null): number {
  const ended = new Set<number>();
  for (let round = 0; round < mostRounds; round += 1) {
    const { members, areUnsure } = membersAmong(listProcesses(), belongs, group);
    const left = members.filter(({ pid }) => !ended.has(pid));
    if (left.length === 0 && !areUnsure) break;
    for (const member of left) {
      signalProcess(member, "SIGKILL");
      ended.add(member.pid);
    }
  }
  return ended.size;
}
