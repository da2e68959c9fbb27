/**
 * An agent of which nothing was heard tells, after its rollout has ended, what became of its operation. What the rollout says of its agents is
 * corrected in the step that ends the operation: whatever ends the process, the two agree.
 */
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationChange } from "../operations/operation-store.ts";
import { countOutcomes } from "../state/result.ts";
import type { Storage, StoredDocument, Write } from "../storage/storage.ts";
import { toGroup } from "./change-groups.ts";
import type { RolloutDocument } from "./documents.ts";
import { groupKey, toGroupPut, type GroupDocument } from "./group-documents.ts";
import { hasEnded, memberStatusOf } from "./progress.ts";
import { withEnded } from "./recap.ts";
import { toPut } from "./rollout-store.ts";

type Operation = Readonly<OperationDocument>;

/** What to write beside the end of an operation of a rollout that was unknown until now. */
export async function correctionOf(
  storage: Storage,
  { before, after }: { before: Operation; after: Operation },
): Promise<OperationChange> {
  const { rollout_id: rolloutId = "" } = after;
  const stored = await storage.get<RolloutDocument>("rollouts", rolloutId);
  if (!stored) return {};
  const { value: rollout } = stored;
  // One that goes on counts by itself. It must not end in this moment, since it would count what was known before.
  if (!hasEnded(rollout.status)) return { writes: [toPut(stored, rollout)] };
  const { counts, recap, kind } = rollout;
  const status = memberStatusOf(after);
  const corrected = { ...counts, unknown: counts.unknown - 1 };
  corrected[status] = (corrected[status] ?? 0) + 1;
  const unheard = { ...before, counts: countOutcomes([]) };
  const recapped = recap && kind !== "run" && { recap: withEnded(withEnded(recap, unheard, -1), after) };
  return {
    writes: [
      toPut(stored, { ...rollout, counts: corrected, ...recapped }),
      ...(await moved(storage, { before, after })),
    ],
  };
}

/** Takes an agent out of the group of those of which nothing was heard, and puts it into its own. */
async function moved(
  storage: Storage,
  { before, after }: { before: Operation; after: Operation },
): Promise<Write[]> {
  const { rollout_id: rolloutId = "", changes } = after;
  if (before.changes === undefined || changes === undefined) return [];
  const keys = [groupKey(rolloutId, before.changes), groupKey(rolloutId, changes)];
  const [left, joined] = await storage.getMany<GroupDocument>("rollout_groups", keys);
  return [
    ...(left ? [withAgents(left, -1)] : []),
    joined ? withAgents(joined, 1) : toGroupPut({ rollout_id: rolloutId, ...toGroup(changes, after) }, 0),
  ];
}

function withAgents({ key, value, revision }: StoredDocument<GroupDocument>, more: number): Write {
  const agents = value.agents + more;
  if (agents > 0) return toGroupPut({ ...value, agents }, revision);
  return { kind: "delete", collection: "rollout_groups", key, expected: revision };
}
