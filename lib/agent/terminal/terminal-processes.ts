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
  const isOne = ({ pid, session, begun }: ProcessEntry): boolean =>
    (session === first.pid && !isAnother) ||
    (pid === first.pid && begun === first.begun) ||
    environmentOf(pid, terminalVariable) === mark;
  group?.kill();
  endAll((all) => [...all.filter(isOne), ...(group?.members(all) ?? [])]);
}

/** Ends what terminals of an agent's earlier life left running. Returns how many processes. */
export function endLeftTerminals(nodeId: string): number {
  const isLeft = ({ pid }: ProcessEntry): boolean =>
    environmentOf(pid, terminalVariable)?.startsWith(`${nodeId}/`) === true;
  return endAll((all) => all.filter(isLeft));
}

function endAll(of: (all: readonly ProcessEntry[]) => ProcessEntry[]): number {
  const ended = new Set<number>();
  for (let round = 0; round < mostRounds; round += 1) {
    const all = listProcesses();
    const members = withDescendants(of(all), all).filter(({ pid, isZombie }) => !isZombie && !ended.has(pid));
    if (members.length === 0) break;
    for (const member of members) {
      signalProcess(member, "SIGKILL");
      ended.add(member.pid);
    }
  }
  return ended.size;
}
