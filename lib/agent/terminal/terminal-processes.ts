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

/**
 * Ends every process of a terminal: its first, with its session and descendants, whatever bears its mark, and all of its group.
 *
 * @param parts - `first` as it was when it began: until it has become the program it has neither a session of its own nor the mark. By then
 *   another may have its number. `group` is null where it has none: what has a new session, no parent that lives and no mark goes on then.
 */
export function endTerminal(
  mark: string,
  { first, group }: { first: Pick<ProcessEntry, "pid" | "begun">; group: ProgramScope | null },
): void {
  const now = processAt(first.pid);
  const isAnother = now !== null && now.begun !== first.begun;
  const isOne: Belongs = ({ pid, session, begun }) =>
    (session === first.pid && !isAnother) ||
    (pid === first.pid && begun === first.begun) ||
    belongsByMark(pid, (found) => found === mark);
  group?.kill();
  endAll(isOne, group);
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

function endAll(belongs: Belongs, group: ProgramScope | null = null): number {
  const ended = new Set<number>();
  for (let round = 0; round < mostRounds; round += 1) {
    const all = listProcesses();
    const answers = all.map(belongs);
    const some = [...all.filter((_entry, index) => answers[index] === true), ...(group?.members(all) ?? [])];
    const members = withDescendants(some, all).filter(({ pid, isZombie }) => !isZombie && !ended.has(pid));
    if (members.length === 0 && !answers.includes(undefined)) break;
    for (const member of members) {
      signalProcess(member, "SIGKILL");
      ended.add(member.pid);
    }
  }
  return ended.size;
}
