/** What a run came to on its agents, those together on which it ended in the same way. */
import { startOf } from "../internal/canonical-json.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { RefusalDocument } from "../rollouts/documents.ts";
import type { RunDetail, RunGroup } from "./schemas.ts";

/** Groups that are told, agents that each names, and characters of a stream that it shows. */
const mostGroups = 100;
const mostAgents = 100;
const shownCharacters = 16_384;

type Operation = Readonly<OperationDocument>;
type Member = RunGroup["agents"][number];
type Ending = Pick<RunGroup, "status" | "exit_code" | "error">;

/** Agents of one ending. */
interface Gathered {
  ending: Ending;
  members: Member[];
  /** What was printed there, by the operation of one of them; null where none was made. */
  example: Operation | null;
}

/** An agent of a run that got no operation, with its name. */
export type Refused = Pick<RefusalDocument, "node_id" | "error"> & { name: string };

/** Groups what has ended, largest group first. */
export async function groupRun(
  operations: OperationService,
  { ended, refused }: { ended: AsyncIterable<Operation>; refused: readonly Refused[] },
): Promise<Pick<RunDetail, "groups" | "ungrouped">> {
  const gathered = new Map<string, Gathered>();
  const add = (key: string, member: Member, group: Omit<Gathered, "members">): void => {
    const known = gathered.get(key);
    if (known) known.members.push(member);
    else gathered.set(key, { ...group, members: [member] });
  };
  for await (const operation of ended) {
    const { node_id, agent_name: name, operation_id, status, exit_code, error, output_hash } = operation;
    if (status === "queued" || status === "running") continue;
    const ending = { status, ...(exit_code !== undefined && { exit_code }), ...(error && { error }) };
    const key = JSON.stringify([status, exit_code, error?.code, error?.message, output_hash]);
    add(key, { node_id, name, operation_id }, { ending, example: operation });
  }
  for (const { node_id, name, error } of refused)
    add(JSON.stringify([error]), { node_id, name }, { ending: { status: "failed", error }, example: null });
  const sorted = [...gathered.values()].toSorted((a, b) => b.members.length - a.members.length);
  const groups: RunGroup[] = [];
  for (const group of sorted.slice(0, mostGroups)) groups.push(await toGroup(operations, group));
  const ungrouped = sorted.slice(mostGroups).reduce((sum, { members }) => sum + members.length, 0);
  return { groups, ungrouped };
}

async function toGroup(
  operations: OperationService,
  { ending, members, example }: Gathered,
): Promise<RunGroup> {
  const report = example && (await operations.reportOf(example));
  const byName = members.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return {
    count: members.length,
    agents: byName.slice(0, mostAgents),
    ...ending,
    output: (report?.output ?? []).map(({ stream, text, truncated }) => ({
      stream,
      text: startOf(text, shownCharacters),
      truncated: truncated || text.length > shownCharacters,
    })),
  };
}
