/** Pages through agents under every filter at once, by node_id. */
import type { z } from "zod";
import type { Context } from "../context.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../internal/json.ts";
import { parseSelector } from "../selectors/parse.ts";
import type { SelectorPage } from "../selectors/selector-index.ts";
import type { AgentDocument } from "./documents.ts";
import type { AgentRegistry } from "./registry.ts";
import type { listAgentsInput } from "./schemas.ts";

type Query = z.output<typeof listAgentsInput>;
type Document = Readonly<AgentDocument>;

export async function listAgents(
  context: Context,
  registry: AgentRegistry,
  query: Query,
): Promise<Page<Document>> {
  const { limit = 50, cursor, ...filter } = query;
  const position = withoutAbsent(filter);
  const after = cursor === undefined ? "" : String(decodeCursor("agents", position, cursor));
  const items: Document[] = [];
  const pages =
    filter.selector === undefined
      ? storedPages(context, filter.status, { after, limit })
      : selectedPages(registry, filter.selector, { after, limit });
  for await (const page of pages) {
    for (const agent of page) {
      if (!passes(context, agent, filter)) continue;
      if (items.length === limit)
        return { items, next_cursor: encodeCursor("agents", position, items.at(-1)!.node_id) };
      items.push(agent);
    }
  }
  return { items, next_cursor: null };
}

/** Where a list goes on, and how much of it is wanted. */
interface Stretch {
  after: string;
  limit: number;
}

/** The most agents that are looked at between two turns of the event loop. */
const longestPage = 500;

function withoutAbsent(filter: Omit<Query, "limit" | "cursor">): JsonObject {
  return Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function passes(context: Context, agent: Document, filter: Omit<Query, "limit" | "cursor">): boolean {
  if (filter.status !== undefined && agent.status !== filter.status) return false;
  const { connected, search } = filter;
  if (connected !== undefined && context.transport.isConnected(agent.node_id) !== connected) return false;
  if (search === undefined) return true;
  const wanted = search.toLowerCase();
  return [agent.name, agent.hostname].some((text) => text?.toLowerCase().includes(wanted) ?? false);
}

/** Page by page, since most lists end within the first, and a wait for each agent would cost more than the agent. */
async function* storedPages(
  context: Context,
  status: string | undefined,
  { after, limit }: Stretch,
): AsyncGenerator<Document[]> {
  // A node_id has one length: this is the first key behind it.
  let from = `${after}\u0000`;
  for (let size = limit + 1; ; size = longestPage) {
    const page = await context.storage.list<AgentDocument>("agents", {
      limit: size,
      from,
      ...(status !== undefined && { index: "by_status", equals: [status] }),
    });
    yield page.items.map(({ value }) => value);
    if (page.next === null) return;
    from = `${page.items.at(-1)!.key}\u0000`;
  }
}

async function* selectedPages(
  registry: AgentRegistry,
  text: string,
  { after, limit }: Stretch,
): AsyncGenerator<Document[]> {
  const selector = parseSelector(text);
  let last: string | null = after;
  for (let size = limit + 1; last !== null; size = longestPage) {
    const page: SelectorPage = registry.index.page(selector, { after: last, limit: size });
    const agents = await Promise.all(page.items.map((nodeId) => registry.find(nodeId)));
    yield agents.flatMap((agent) => (agent === null ? [] : [agent.value]));
    last = page.next;
  }
}
