/** What is known of each machine since its newest applies. All of `agent_states` is read and written here. */
import { toJsonObject } from "../json.ts";
import type { Storage, StoredDocument, Write } from "../storage/storage.ts";
import type { AgentStateDocument } from "./documents.ts";

const collection = "agent_states";

/** Reads it; null where nothing was applied yet. */
export function readAgentState(
  storage: Storage,
  nodeId: string,
): Promise<StoredDocument<AgentStateDocument> | null> {
  return storage.get<AgentStateDocument>(collection, nodeId);
}

/** Writes it where it is still as it was read. */
export function putAgentState(
  state: AgentStateDocument,
  before: Pick<StoredDocument, "revision"> | null,
): Write {
  const expected = before?.revision ?? 0;
  return { kind: "put", collection, key: state.node_id, value: toJsonObject(state), expected };
}

/** Holds a commit to what was read: it fails where an apply changed it meanwhile. */
export function expectAgentState(known: StoredDocument<AgentStateDocument>): Write {
  return putAgentState(known.value, known);
}

/** Forgets what is known of a machine. */
export function forgetAgentState(nodeId: string): Write {
  return { kind: "delete", collection, key: nodeId };
}

/**
 * Has what calls named for one agent stay wanted on the one that takes its place: what that one was named itself counts more. What was
 * applied stays with the machine that it was applied on.
 */
export async function handOverNamed(
  storage: Storage,
  { oldId, newId }: { oldId: string; newId: string },
): Promise<Write[]> {
  const [from, to] = await Promise.all([readAgentState(storage, oldId), readAgentState(storage, newId)]);
  if (from?.value.named === undefined) return [];
  const { named, ...kept } = from.value;
  const after = { node_id: newId, ...to?.value, named: { ...named, ...to?.value.named } };
  return [putAgentState(kept, from), putAgentState(after, to)];
}
