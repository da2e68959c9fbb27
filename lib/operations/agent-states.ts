/** What is known of each machine since its newest applies. All of `agent_states` is read and written here. */
import type { Context } from "../context.ts";
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

/** Forgets what is known of a machine as it is now: its baseline may be what nothing else refers to. */
export async function forgetAgentState({ storage, contents }: Context, nodeId: string): Promise<Write[]> {
  const known = await readAgentState(storage, nodeId);
  const snapshot = known?.value.baseline?.snapshot;
  return [
    { kind: "delete", collection, key: nodeId, expected: known?.revision ?? 0 },
    ...(snapshot === undefined ? [] : [contents.loosen("snapshot", snapshot)]),
  ];
}
