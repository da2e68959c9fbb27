/** Holds a commit to that an agent is there, so that nothing is kept of one that is removed in that moment: who comes back with its key inherits nothing. */
import type { Context } from "../context.ts";
import type { JsonObject } from "../json.ts";
import type { Write } from "../storage/storage.ts";

const collection = "removed_agents";

/** What to write with what is kept of an agent: it fails the commit where the agent was removed meanwhile. Null where there is no such agent. */
export async function expectThere({ storage }: Pick<Context, "storage">, key: string): Promise<Write | null> {
  // First: whoever removes the agent after this changes it.
  const tombstone = await storage.get<JsonObject>(collection, key);
  if ((await storage.get("agents", key)) === null) return null;
  if (tombstone === null) return { kind: "delete", collection, key, expected: 0 };
  return { kind: "put", collection, key, value: tombstone.value, expected: tombstone.revision };
}
