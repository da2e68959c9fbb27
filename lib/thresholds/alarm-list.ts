import type { z } from "zod";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../json.ts";
import type { ListQuery, Storage } from "../storage/storage.ts";
import type { AlarmDocument } from "./documents.ts";
import type { Alarm, listAlarmsInput } from "./schemas.ts";

const collection = "alarms";
const pageSize = 200;

type Filter = Omit<z.output<typeof listAlarmsInput>, "limit" | "cursor">;

/** A page of alarms, newest first, under every filter at once. */
export async function listAlarms(
  storage: Storage,
  { limit = 50, cursor, ...filter }: z.output<typeof listAlarmsInput>,
): Promise<Page<Alarm>> {
  const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
  let after = cursor === undefined ? null : String(decodeCursor(collection, bound, cursor));
  const items: Alarm[] = [];
  for (;;) {
    const page = await storage.list<AlarmDocument>(collection, {
      ...narrowest(filter),
      order: "desc",
      // Each page of the storage ends no later than this one, so that its end is a place to go on from.
      limit: Math.min(pageSize, limit - items.length),
      ...(after !== null && { after }),
    });
    for (const { value } of page.items) if (passes(value, filter)) items.push({ ...value });
    after = page.next;
    if (after === null) return { items, next_cursor: null };
    if (items.length === limit) return { items, next_cursor: encodeCursor(collection, bound, after) };
  }
}

function narrowest({ node_id, threshold_id, severity }: Filter): Pick<ListQuery, "index" | "equals"> {
  if (node_id !== undefined) return { index: "by_node", equals: [node_id] };
  if (threshold_id !== undefined) return { index: "by_threshold", equals: [threshold_id] };
  if (severity !== undefined) return { index: "by_severity", equals: [severity] };
  return { index: "by_time" };
}

function passes(alarm: Readonly<AlarmDocument>, { threshold_id, node_id, severity }: Filter): boolean {
  return (
    (threshold_id === undefined || alarm.threshold_id === threshold_id) &&
    (node_id === undefined || alarm.node_id === node_id) &&
    (severity === undefined || alarm.severity === severity)
  );
}
