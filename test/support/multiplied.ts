/** A storage with several of everything that there is: equal but for who they are, so that each lies at the bound of a page somewhere. */
import type { JsonObject } from "../../lib/json.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import type { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";

/** Collections whose keys are names. */
const named: ReadonlySet<string> = new Set(["assignments", "modules", "secrets"]);
const id = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}/g;

/** Adds to each document that has a key of its own some that only differ in that. */
export async function multiply(storage: MemoryStorage, copies: number): Promise<void> {
  const writes: Write[] = [];
  for (const collection of Object.keys(storageSchema.collections)) {
    const { items } = await storage.list<JsonObject>(collection, { limit: 1_000 });
    for (const { key, value } of items) {
      const own = named.has(collection) ? key : key.match(id)?.at(-1);
      if (own === undefined) continue;
      const ends = Array.from({ length: copies }, (_, at) =>
        named.has(collection) ? `-${at}` : at.toString(16),
      );
      for (const end of ends) {
        const other = named.has(collection) ? `${own}${end}` : own.slice(0, -1) + end;
        if (items.some((item) => item.key === key.replace(own, other))) continue;
        const text = JSON.stringify(value).replaceAll(`"${own}"`, `"${other}"`);
        writes.push({
          kind: "put",
          collection,
          key: key.replace(own, other),
          value: JSON.parse(text) as JsonObject,
          expected: 0,
        });
      }
    }
  }
  await storage.commit(writes);
}
