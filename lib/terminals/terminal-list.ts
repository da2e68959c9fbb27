import type { z } from "zod";
import type { Context } from "../context.ts";
import { idsFrom } from "../ids.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../json.ts";
import type { ListQuery } from "../storage/storage.ts";
import type { TerminalDocument } from "./documents.ts";
import type { listTerminalsInput, Terminal } from "./schemas.ts";
import type { TerminalFigures } from "./terminal-holders.ts";

/** A page of terminals, newest first. */
export async function listTerminals(
  { storage }: Context,
  query: z.output<typeof listTerminalsInput>,
): Promise<Page<Readonly<TerminalDocument>>> {
  const { limit = 50, cursor, ...filter } = query;
  const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
  const before = cursor === undefined ? undefined : String(decodeCursor("terminals", bound, cursor));
  const { items, next } = await storage.list<TerminalDocument>("terminals", {
    ...narrowed(filter),
    order: "desc",
    limit,
    ...(filter.id_prefix !== undefined && idsFrom(filter.id_prefix)),
    ...(before !== undefined && { to: before }),
  });
  const last = items.at(-1);
  return {
    items: items.map(({ value }) => value),
    next_cursor: next === null || !last ? null : encodeCursor("terminals", bound, last.key),
  };
}

/** Within each index, keys are in order of time. */
function narrowed({
  node_id,
  status,
}: Omit<z.output<typeof listTerminalsInput>, "limit" | "cursor">): Pick<ListQuery, "index" | "equals"> {
  if (node_id !== undefined && status !== undefined)
    return { index: "by_node_status", equals: [node_id, status] };
  if (node_id !== undefined) return { index: "by_node", equals: [node_id] };
  if (status !== undefined) return { index: "by_status", equals: [status] };
  return {};
}

/** A terminal as everybody sees it, with its figures where it is open and its holder tells them. */
export function toTerminal(
  document: Readonly<TerminalDocument>,
  { viewers, bytes }: TerminalFigures = { viewers: 0, bytes: document.bytes },
): Terminal {
  const { holder: _, opener_role: __, recording_bytes: ___, ...shown } = document;
  return { ...shown, bytes, viewers };
}
