/**
 * The processes of terminals: each terminal's bear its mark in their environment, and are of its session. Those of an agent's earlier
 * life are known by the mark.
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

/** Looks for members again so often: one that starts another while it is ended has its last seen. */
const mostRounds = 20;

/**
 * Ends every process of a terminal: its first, with its session and descendants, and whatever bears its mark.
 *
 * @param first - As it was when it began: until it has become the program it has neither a session of its own nor the mark. By then
 *   another may have its number.
 */
export function endTerminal(mark: string, first: Pick<ProcessEntry, "pid" | "begun">): void {
  const now = processAt(first.pid);
  const isAnother = now !== null && now.begun !== first.begun;
  endAll(
    ({ pid, session, begun }) =>
      (session === first.pid && !isAnother) ||
      (pid === first.pid && begun === first.begun) ||
      environmentOf(pid, terminalVariable) === mark,
  );
}

/** Ends what terminals of an agent's earlier life left running. Returns how many processes. */
export function endLeftTerminals(nodeId: string): number {
  return endAll(({ pid }) => environmentOf(pid, terminalVariable)?.startsWith(`${nodeId}/`) === true);
}

function endAll(isOne: (entry: ProcessEntry) => boolean): number {
  const ended = new Set<number>();
  for (let round = 0; round < mostRounds; round += 1) {
    const all = listProcesses();
    const members = withDescendants(all.filter(isOne), all).filter(
      ({ pid, isZombie }) => !isZombie && !ended.has(pid),
    );
    if (members.length === 0) break;
    for (const member of members) {
      signalProcess(member, "SIGKILL");
      ended.add(member.pid);
    }
  }
  return ended.size;
}
