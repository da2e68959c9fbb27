/** What a server has of all that a fleet folder may say. */
import { folderKinds, toPresentThing } from "fleetwright";
import type { Assignment, FolderKind, Page, PresentThing } from "fleetwright";
import type { Client } from "../client/client.ts";
import { callsOf, type KindCalls } from "./kind-calls.ts";

/** What stands in lists for a value that nobody is to read there. */
const hidden = "(sensitive)";

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
      things.push(toPresentThing(kind, await whole(client, { kind, listed, wanted })));
  return things;
}

/** Whether a value of a param is not told. */
export function hasHiddenParams(thing: PresentThing): boolean {
  return thing.kind === "assignments" && Object.values(paramsOf(thing.values)).includes(hidden);
}

async function whole(
  client: Client,
  { kind, listed, wanted }: { kind: FolderKind; listed: object; wanted: ReadonlySet<string> | null },
): Promise<object> {
  if (kind !== "assignments") return listed;
  const { name } = listed as Assignment;
  const isHidden = Object.values(paramsOf(listed)).includes(hidden);
  return isHidden && (wanted === null || wanted.has(name)) ? client.assignments.get(name) : listed;
}

function paramsOf(values: object): Record<string, unknown> {
  return (values as { params?: Record<string, unknown> }).params ?? {};
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
