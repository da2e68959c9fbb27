import type { Agent } from "fleetwright";
import { ApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { UsageError } from "./failure.ts";

/**
 * Finds an agent by its `node_id`, its name or, where it has none yet, its hostname.
 *
 * @throws {ApiError} `NOT_FOUND` where there is none.
 * @throws {UsageError} Where more than one has that hostname.
 */
export async function findAgent(client: Client, text: string): Promise<Agent> {
  if (/^[0-9a-f]{32}$/.test(text)) return client.agents.get(text);
  const found = await search(client, text);
  const named = found.find(({ name }) => name === text);
  if (named) return named;
  const [first, second] = found.filter(({ hostname }) => hostname === text);
  if (second) throw new UsageError(`More than one machine is called ${text}; give the node_id.`);
  if (first) return first;
  const detail = `There is no agent ${JSON.stringify(text)}.`;
  throw new ApiError({
    type: "/problems/not-found",
    title: "Not found",
    status: 404,
    detail,
    code: "NOT_FOUND",
  });
}

async function search(client: Client, text: string): Promise<Agent[]> {
  const items: Agent[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.agents.list({ search: text, limit: 500, cursor });
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return items;
}
