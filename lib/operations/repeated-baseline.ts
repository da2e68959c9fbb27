/** Whether an apply may repeat the newest that succeeded: only where nothing else was asked of the machine since. */
import type { Storage, StoredDocument } from "../storage/storage.ts";
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
  const state = await storage.get<AgentStateDocument>("agent_states", nodeId);
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

/** Whether an operation that waits may begin: one that repeats a baseline, only while that may be repeated. */
export async function mayBegin(
  storage: Storage,
  { node_id, operation_id, repeats }: Readonly<OperationDocument>,
): Promise<boolean> {
  if (repeats === undefined) return true;
  return (
    (await findRepeatable(storage, { nodeId: node_id, operationId: repeats, by: operation_id })) !== null
  );
}
