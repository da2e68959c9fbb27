/** Pages through agents under every filter at once, by node_id. */
import type { z } from "zod";
import type { Context } from "../context.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../internal/json.ts";
import { parseSelector } from "../selectors/parse.ts";
import type { AgentDocument } from "./documents.ts";
import type { AgentRegistry } from "./registry.ts";
import type { listAgentsInput } from "./schemas.ts";

type Query = z.output<typeof listAgentsInput>;
type Document = Readonly<AgentDocument>;

export async function listAgents(context: Context, registry: AgentRegistry, query: Query): Promise<Page<Document>> {
  const { limit = 50, cursor, ...filter } = query;
  const position = JSON.parse(JSON.stringify(filter)) as JsonObject;
  const after = cursor === undefined ? "" : String(decodeCursor("agents", position, cursor));
  const candidates =
    filter.selector === undefined
      ? storedAgents(context, filter.status, after)
      : selectedAgents(registry, filter.selector, after);
  const items: Document[] = [];
  for await (const agent of candidates) {
    if (!passes(context, agent, filter)) continue;
    if (items.length === limit) return { items, next_cursor: encodeCursor("agents", position, items.at(-1)!.node_id) };
    items.push(agent);
  }
  return { items, next_cursor: null };
}

function passes(context: Context, agent: Document, filter: Omit<Query, "limit" | "cursor">): boolean {
  if (filter.status !== undefined && agent.status !== filter.status) return false;
  const { connected, search } = filter;
  if (connected !== undefined && context.transport.isConnected(agent.node_id) !== connected) return false;
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  return [agent.name, agent.hostname].some((text) => text?.toLowerCase().includes(wanted) ?? false);
}

async function* storedAgents(context: Context, status: string | undefined, start: string): AsyncGenerator<Document> {
  let last = start;
  for (;;) {
    const page = await context.storage.list<AgentDocument>("agents", {
      limit: 200,
      // A node_id has one length: this is the first key behind it.
      from: `${last}\u0000`,
      ...(status !== undefined && { index: "by_status", equals: [status] }),
    });
    for (const item of page.items) yield item.value;
    if (page.next === null) return;
    last = page.items.at(-1)!.key;
  }
}

async function* selectedAgents(registry: AgentRegistry, selector: string, after: string): AsyncGenerator<Document> {
  for (const nodeId of registry.index.match(parseSelector(selector))) {
    if (nodeId <= after) continue;
    const agent = await registry.find(nodeId);
    if (agent) yield agent.value;
  }
}
