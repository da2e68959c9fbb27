import type { Agent } from "fleetwright";
import type { Client } from "../client/client.ts";
import { UsageError } from "./failure.ts";
import { ambiguous, didYouMean, notFound } from "./find-id.ts";

/**
 * Finds an agent by its name, its hostname where it has none yet, its `node_id`, or at least 8 digits that only its `node_id` begins with.
 *
 * @throws {ApiError} `NOT_FOUND` where there is none.
 * @throws {UsageError} Where more than one has that hostname, or begins so.
 */
export async function findAgent(client: Client, text: string): Promise<Agent> {
  if (/^[0-9a-f]{32}$/.test(text)) return client.agents.get(text);
  const { items } =
    text === "" || text.length > longestName
      ? { items: [] }
      : await client.agents.list({ name: text, limit: 1 });
  // Names are unique without regard to case, and typed as they are.
  const [named] = items.filter(({ name }) => name === text);
  if (named) return named;
  const [first, second] = await findByHostname(client, text);
  if (second) throw new UsageError(`More than one machine is called ${text}; give the node_id.`);
  return first ?? (await findByPrefix(client, text)) ?? (await refuse(client, text));
}

const longestName = 64;
const longestSearch = 100;

/** Less is no id: a name that is gone must not find the machine whose id happens to begin so. */
const leastPrefix = 8;

async function findByPrefix({ agents }: Client, text: string): Promise<Agent | undefined> {
  const id_prefix = text.toLowerCase();
  if (!/^[0-9a-f]+$/.test(id_prefix) || id_prefix.length < leastPrefix) return undefined;
  const { items } = await agents.list({ id_prefix, limit: 6 });
  if (items.length > 1)
    throw ambiguous(
      "agent",
      text,
      items.map(({ node_id, name, hostname }) => ({ id: node_id, about: name ?? hostname })),
    );
  return items[0];
}

/** With names that may have been meant: of those that begin alike, or of the first there are. */
async function refuse({ agents }: Client, text: string): Promise<never> {
  const alike = await agents.list({ ...(text !== "" && { search: text.slice(0, 1) }), limit: 500 });
  const names = alike.items.flatMap(({ name, hostname }) => (name === undefined ? [hostname] : [name]));
  throw notFound(`There is no agent ${JSON.stringify(text)}.${didYouMean(text, names)}`);
}

/** The first two machines that are called so. */
async function findByHostname({ agents }: Client, text: string): Promise<Agent[]> {
  const found: Agent[] = [];
  if (text === "" || text.length > longestSearch) return found;
  let cursor: string | undefined;
  do {
    const page = await agents.list({ search: text, limit: 500, cursor });
    found.push(...page.items.filter(({ hostname }) => hostname === text));
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && found.length < 2);
  return found;
}
