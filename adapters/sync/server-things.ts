/** What a server has of all that a fleet folder may say. */
import { folderKinds, hasHiddenValues, toPresentThing } from "fleetwright";
import type { Page, PresentThing } from "fleetwright";
import type { Client } from "../client/client.ts";
import { callsOf, type KindCalls } from "./kind-calls.ts";

/**
 * Reads every list.
 *
 * @param wanted - Names of assignments of which values that lists hide are wanted, too, where the caller may see them; null = of all.
 */
export async function readServer(
  client: Client,
  wanted: ReadonlySet<string> | null,
): Promise<PresentThing[]> {
  const things: PresentThing[] = [];
  for (const kind of folderKinds)
    for (const listed of await readAll(callsOf(client, kind).list))
      things.push(await whole(client, toPresentThing(kind, listed), wanted));
  return things;
}

/** The same with the values that its list hides, where they are wanted. */
async function whole(
  client: Client,
  listed: PresentThing,
  wanted: ReadonlySet<string> | null,
): Promise<PresentThing> {
  const { kind, name } = listed;
  if (kind !== "assignments" || !hasHiddenValues(listed)) return listed;
  return wanted === null || wanted.has(name)
    ? toPresentThing(kind, await client.assignments.get(name))
    : listed;
}

async function readAll(list: KindCalls["list"]): Promise<object[]> {
  const items: object[] = [];
  let cursor: string | null = null;
  do {
    const page: Page<object> = await list({ limit: 500, ...(cursor !== null && { cursor }) });
    items.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return items;
}
