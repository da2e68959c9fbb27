/** Pages through agents under every filter at once, by node_id. */
import type { Context } from "../context.ts";
import { idsFrom } from "../ids.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../json.ts";
import type { SelectorPage } from "../selectors/selector-index.ts";
import type { StoredDocument } from "../storage/storage.ts";
import { lookupsFor, type AgentQuery, type Lookup, type LookupParts } from "./agent-lookups.ts";
import type { AgentDocument } from "./documents.ts";
import type { Presence } from "./presence.ts";
import type { AgentRegistry } from "./registry.ts";

type Query = AgentQuery;
type Stored = StoredDocument<AgentDocument>;

/** Where agents are looked for. */
interface Parts extends LookupParts {
  registry: AgentRegistry;
  presence: Presence;
}

/** How many pages are remembered: those that somebody looks at again and again. */
const mostRemembered = 64;

/** Finds pages of agents, and finds the same page again without looking for as long as no agent changes. */
export class AgentList {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #remembered = new Map<string, Page<Stored>>();
  /** The state of the agents that the remembered pages are of. */
  #edition: number | null = null;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  async page(query: Query): Promise<Page<Stored>> {
    const { registry } = this.#parts;
    const { edition } = registry;
    // Agents come and go, get other modules and drift without any change of what is stored under their names.
    if (edition === null || query.connected !== undefined || lookupsFor(this.#parts, query).length > 0)
      return findPage(this.#context, this.#parts, query);
    const name = JSON.stringify(query);
    const known = edition === this.#edition ? this.#remembered.get(name) : undefined;
    if (known !== undefined) return known;
    const page = await findPage(this.#context, this.#parts, query);
    if (edition === registry.edition) this.#remember(name, page, edition);
    return page;
  }

  #remember(name: string, page: Page<Stored>, edition: number): void {
    if (edition !== this.#edition || this.#remembered.size >= mostRemembered) this.#remembered.clear();
    this.#edition = edition;
    this.#remembered.set(name, page);
  }
}

async function findPage(context: Context, parts: Parts, query: Query): Promise<Page<Stored>> {
  const { limit = 50, cursor, ...filter } = query;
  const position = withoutAbsent(filter);
  const after = cursor === undefined ? "" : String(decodeCursor("agents", position, cursor));
  const items: Stored[] = [];
  const passes = createFilter(parts.presence, filter);
  for await (const page of candidates(context, parts, { filter, stretch: { after, limit } })) {
    for (const stored of page) {
      if (!passes(stored.value)) continue;
      if (items.length === limit)
        return { items, next_cursor: encodeCursor("agents", position, items.at(-1)!.key) };
      items.push(stored);
    }
  }
  return { items, next_cursor: null };
}

/** What finds agents fastest under some filters; the other filters are left to look at each. */
function candidates(
  context: Context,
  parts: Parts,
  { filter, stretch }: { filter: Filter; stretch: Stretch },
): AsyncGenerator<readonly Stored[]> {
  const { registry } = parts;
  const wanted = lookupsFor(parts, filter);
  const [first] = wanted;
  const isSelected = filter.selector !== undefined || first === undefined;
  const found = isSelected
    ? filter.selector === undefined
      ? storedPages(context, filter, stretch)
      : selectedPages(registry, filter.selector, stretch)
    : foundPages(registry, first.pages({ ...stretch, limit: stretch.limit + 1 }));
  return wanted.slice(isSelected ? 0 : 1).reduce(filterPages, found);
}

async function* filterPages(
  pages: AsyncGenerator<readonly Stored[]>,
  { having }: Lookup,
): AsyncGenerator<readonly Stored[]> {
  for await (const page of pages) {
    const found = await having(page.map(({ key }) => key));
    yield page.filter(({ key }) => found.has(key));
  }
}

async function* foundPages(
  registry: AgentRegistry,
  pages: AsyncGenerator<readonly string[]>,
): AsyncGenerator<readonly Stored[]> {
  for await (const nodeIds of pages) yield await registry.findAll(nodeIds);
}

/** Where a list goes on, and how much of it is wanted. */
interface Stretch {
  after: string;
  limit: number;
}

/** The most agents that are looked at between two turns of the event loop. */
const longestPage = 500;

type Filter = Omit<Query, "limit" | "cursor">;

function withoutAbsent(filter: Filter): JsonObject {
  const present: JsonObject = {};
  for (const [name, value] of Object.entries(filter)) if (value !== undefined) present[name] = value;
  return present;
}

/** Makes what tells whether an agent passes; the selector is not looked at here. */
function createFilter(presence: Presence, filter: Filter): (agent: Readonly<AgentDocument>) => boolean {
  const { status, connected, agent_version, id_prefix = "" } = filter;
  const search = filter.search?.toLowerCase();
  const isNamed = (text: string | undefined, part: string): boolean =>
    text?.toLowerCase().includes(part) === true;
  return (agent) => {
    if (status !== undefined && agent.status !== status) return false;
    if (!agent.node_id.startsWith(id_prefix)) return false;
    if (agent_version !== undefined && agent.agent_version !== agent_version) return false;
    if (connected !== undefined && presence.isConnected(agent.node_id) !== connected) return false;
    return search === undefined || isNamed(agent.name, search) || isNamed(agent.hostname, search);
  };
}

/** Page by page, since most lists end within the first, and a wait for each agent would cost more than the agent. */
async function* storedPages(
  context: Context,
  { status, id_prefix }: Pick<Filter, "status" | "id_prefix">,
  { after, limit }: Stretch,
): AsyncGenerator<readonly Stored[]> {
  const named = id_prefix === undefined ? null : idsFrom(id_prefix);
  // A node_id has one length: this is the first key behind it.
  const behind = `${after}\u0000`;
  let from = named !== null && named.from > behind ? named.from : behind;
  for (let size = limit + 1; ; size = longestPage) {
    const page = await context.storage.list<AgentDocument>("agents", {
      limit: size,
      from,
      ...(named && { to: named.to }),
      ...(status !== undefined && { index: "by_status", equals: [status] }),
    });
    yield page.items;
    if (page.next === null) return;
    from = `${page.items.at(-1)!.key}\u0000`;
  }
}

async function* selectedPages(
  registry: AgentRegistry,
  text: string,
  { after, limit }: Stretch,
): AsyncGenerator<readonly Stored[]> {
  const selector = registry.selectors.parse(text);
  let last: string | null = after;
  for (let size = limit + 1; last !== null; size = longestPage) {
    const { items, next }: SelectorPage = registry.index.page(selector, { after: last, limit: size });
    yield await registry.findAll(items);
    last = next;
  }
}
