/** Whether an apply that waits is overtaken: by another that was asked of the machine since. */
import type { Context } from "../context.ts";
import type { Storage, StoredDocument } from "../storage/storage.ts";
import { readAgentState } from "./agent-states.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";
import { isOpen } from "./operation-store.ts";

/** Applies that are looked at, newest first: more than ever wait for one agent. */
const lookedAt = 100;

/** A baseline of an agent, by the apply that made it. */
interface Repeated {
  nodeId: string;
  operationId: string;
  /** The apply that repeats it, which does not stand in its own way. */
  by?: string;
}

/**
 * What is known of an agent, to be expected by the commit that makes the apply; null where the baseline may not be repeated:
 * another apply made its own, or ended without success, or is open, or nobody knows how it ended.
 */
export async function findRepeatable(
  storage: Storage,
  { nodeId, operationId, by }: Repeated,
): Promise<StoredDocument<AgentStateDocument> | null> {
  const state = await readAgentState(storage, nodeId);
  const { baseline, last_apply } = state?.value ?? {};
  // After an apply that failed the machine is between two states; which one is right, only people know.
  if (baseline?.operation_id !== operationId || last_apply?.snapshot !== baseline.snapshot) return null;
  const query = { index: "by_node_kind", equals: [nodeId, "apply"], order: "desc", limit: lookedAt } as const;
  for (const { key, value } of (await storage.list<OperationDocument>("operations", query)).items) {
    if (key === operationId) break;
    if (key !== by && (isOpen(value) || value.status === "unknown")) return null;
  }
  return state;
}

/**
 * Whether an operation that waits may begin: one that repeats a baseline, only while that may be repeated; an apply of a backup
 * only where none that was asked for later began on the machine since the restore, or it would put back what is newer.
 */
export async function mayBegin(
  { storage, epochs }: Context,
  operation: Readonly<OperationDocument>,
): Promise<boolean> {
  const { node_id, operation_id, kind, repeats } = operation;
  if (repeats !== undefined) {
    const repeated = { nodeId: node_id, operationId: repeats, by: operation_id };
    return (await findRepeatable(storage, repeated)) !== null;
  }
  if (kind !== "apply" || !epochs.isBefore(operation)) return true;
  const query = {
    index: "by_node_kind",
    equals: [node_id, "apply"],
    order: "desc",
    limit: lookedAt,
  } as const;
  const { items } = await storage.list<OperationDocument>("operations", query);
  return !items.some(
    ({ key, value }) => key > operation_id && value.begun_at !== undefined && !epochs.isBefore(value),
  );
}
