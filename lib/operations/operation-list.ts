/** Pages through operations, newest first, under every filter at once. */
import type { z } from "zod";
import { idsFrom, leastIdAt } from "../ids.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { JsonObject } from "../json.ts";
import type { ListQuery } from "../storage/storage.ts";
import type { OperationDocument } from "./documents.ts";
import { isListed } from "./operation-kinds.ts";
import type { OperationParts } from "./operation-parts.ts";
import type { listOperationsInput, Operation } from "./schemas.ts";

type Query = z.output<typeof listOperationsInput>;
type Filter = Omit<Query, "limit" | "cursor">;
type Document = Readonly<OperationDocument>;

const pageSize = 200;

export async function listOperations(
  { context, view }: Pick<OperationParts, "context" | "view">,
  query: Query,
): Promise<Page<Operation>> {
  const { limit = 50, cursor, ...filter } = query;
  const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
  let before = cursor === undefined ? undefined : String(decodeCursor("operations", bound, cursor));
  const items: Operation[] = [];
  for (;;) {
    const page = await context.storage.list<OperationDocument>("operations", {
      ...narrowest(filter),
      order: "desc",
      limit: pageSize,
      ...(filter.from !== undefined && { from: leastIdAt(Date.parse(filter.from)) }),
      ...(filter.id_prefix !== undefined && idsFrom(filter.id_prefix)),
      ...(before !== undefined && { to: before }),
    });
    for (const { value } of page.items) {
      if (!passes(value, filter)) continue;
      if (items.length === limit) {
        return { items, next_cursor: encodeCursor("operations", bound, items.at(-1)!.operation_id) };
      }
      items.push(view(value));
    }
    if (page.next === null) return { items, next_cursor: null };
    before = page.items.at(-1)!.key;
    // A filter that passes few has many looked at: others are served in between.
    await nextTurn();
  }
}

/** The index that leaves the fewest to look at; within each, keys are in order of time. */
function narrowest(filter: Filter): Pick<ListQuery, "index" | "equals"> {
  if (filter.rollout_id !== undefined) return { index: "by_rollout", equals: [filter.rollout_id] };
  if (filter.node_id !== undefined) return { index: "by_node", equals: [filter.node_id] };
  if (filter.assignment !== undefined) return { index: "by_assignment", equals: [filter.assignment] };
  if (filter.status !== undefined) return { index: "by_status", equals: [filter.status] };
  return {};
}

function passes(operation: Document, filter: Filter): boolean {
  if (!isListed(operation)) return false;
  if (filter.from !== undefined && Date.parse(operation.created_at) < Date.parse(filter.from)) return false;
  if (filter.to !== undefined && Date.parse(operation.created_at) >= Date.parse(filter.to)) return false;
  const equal = ["node_id", "kind", "status", "assignment", "rollout_id"] as const;
  return equal.every((field) => filter[field] === undefined || operation[field] === filter[field]);
}
