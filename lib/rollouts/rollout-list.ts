import type { z } from "zod";
import type { Context } from "../context.ts";
import { idsFrom } from "../ids.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { JsonObject } from "../json.ts";
import type { ListQuery } from "../storage/storage.ts";
import type { RolloutDocument } from "./documents.ts";
import type { listRolloutsInput } from "./schemas.ts";

type Query = z.output<typeof listRolloutsInput>;
type Filter = Pick<Query, "assignment" | "kind" | "status" | "id_prefix">;

const pageSize = 200;

/** Pages through rollouts, newest first, under every filter at once. */
export async function listRollouts(
  context: Context,
  { limit = 50, cursor, ...filter }: Query,
): Promise<Page<Readonly<RolloutDocument>>> {
  const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
  let before = cursor === undefined ? undefined : String(decodeCursor("rollouts", bound, cursor));
  const items: Readonly<RolloutDocument>[] = [];
  for (;;) {
    const page = await context.storage.list<RolloutDocument>("rollouts", {
      ...narrowest(filter),
      order: "desc",
      limit: pageSize,
      ...(filter.id_prefix !== undefined && idsFrom(filter.id_prefix)),
      ...(before !== undefined && { to: before }),
    });
    for (const { value } of page.items) {
      if (filter.status !== undefined && value.status !== filter.status) continue;
      if (filter.kind !== undefined && value.kind !== filter.kind) continue;
      if (items.length === limit)
        return { items, next_cursor: encodeCursor("rollouts", bound, items.at(-1)!.rollout_id) };
      items.push(value);
    }
    if (page.next === null) return { items, next_cursor: null };
    before = page.items.at(-1)!.key;
    // A filter that passes few has many looked at: others are served in between.
    await nextTurn();
  }
}

/** The index that leaves the fewest to look at; within each, keys are in order of time. */
function narrowest({ assignment, status }: Filter): Pick<ListQuery, "index" | "equals"> {
  if (assignment !== undefined) return { index: "by_assignment", equals: [assignment] };
  if (status !== undefined) return { index: "by_status", equals: [status] };
  return {};
}
