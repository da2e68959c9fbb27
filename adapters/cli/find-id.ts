/** Whole ids for the short ones that people type. */
import { nearNames } from "fleetwright/options";
import { ApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { UsageError } from "./failure.ts";

/** What an id may be of, and how people know it. */
export interface Candidate {
  id: string;
  about: string;
}

/** Candidates that are told where an id is not the only one that begins so. */
const mostTold = 5;

/** Names that are told of those that may have been meant. */
const mostMeant = 3;

/**
 * Finds the one id that begins with what was typed. A whole one is not looked up, nor what can be none: the server says so.
 *
 * @param list - Finds what begins so; one more than {@link mostTold} is enough.
 * @throws {UsageError} Where more than one begins so.
 * @throws {ApiError} `NOT_FOUND` where none does.
 */
export async function findId(
  kind: string,
  typed: string,
  list: (prefix: string, limit: number) => Promise<readonly Candidate[]>,
): Promise<string> {
  const text = typed.toLowerCase();
  if (!/^[0-9a-f][0-9a-f-]{3,34}$/.test(text) || /^[0-9a-f]{32}$/.test(text)) return typed;
  const found = await list(text, mostTold + 1);
  const [first, second] = found;
  if (!first) throw notFound(`There is no ${kind} that begins with ${JSON.stringify(typed)}.`);
  if (second) throw ambiguous(kind, typed, found);
  return first.id;
}

/** Several things begin so: which. */
export function ambiguous(kind: string, typed: string, found: readonly Candidate[]): UsageError {
  const told = found.slice(0, mostTold).map(({ id, about }) => `${id} (${about})`);
  const more = found.length > mostTold ? ", and more" : "";
  return new UsageError(
    `More than one ${kind} begins with ${JSON.stringify(typed)}: ${told.join(", ")}${more}.`,
  );
}

/** What the server would say of something that is not there. */
export function notFound(detail: string): ApiError {
  return new ApiError({
    type: "/problems/not-found",
    title: "Not found",
    status: 404,
    detail,
    code: "NOT_FOUND",
  });
}

/** An operation by its id or the beginning of it. */
export function findOperation({ operations }: Client, typed: string): Promise<string> {
  return findId("operation", typed, async (id_prefix, limit) =>
    (await operations.list({ id_prefix, limit })).items.map(({ operation_id, kind, agent_name }) => ({
      id: operation_id,
      about: `${kind} on ${agent_name}`,
    })),
  );
}

/** A rollout, a run among them. */
export function findRollout({ rollouts }: Client, typed: string): Promise<string> {
  return findId("rollout", typed, async (id_prefix, limit) =>
    (await rollouts.list({ id_prefix, limit })).items.map(
      ({ rollout_id, kind, assignment, command = "" }) => ({
        id: rollout_id,
        about: `${kind} of ${assignment ?? command}`,
      }),
    ),
  );
}

/** A terminal. */
export function findTerminal({ terminals }: Client, typed: string): Promise<string> {
  return findId("terminal", typed, async (id_prefix, limit) =>
    (await terminals.list({ id_prefix, limit })).items.map(({ session_id, agent_name, opened_at }) => ({
      id: session_id,
      about: `on ${agent_name}, ${opened_at}`,
    })),
  );
}

/** Reads one page after the other of what there are few of, or as far as an id can be. */
export type ListPage<Item> = (query: {
  limit: number;
  cursor?: string;
}) => Promise<{ items: readonly Item[]; next_cursor: string | null }>;

/** One of what a server has few of, all of which are read: windows, thresholds, channels, tokens. */
export async function findListed<Item extends { id: string }>(
  kind: string,
  typed: string,
  { list, aboutOf }: { list: ListPage<Item>; aboutOf: (item: Item) => string },
): Promise<string> {
  return findId(kind, typed, async (prefix) => {
    const found: Candidate[] = [];
    for await (const item of each(list)) {
      if (item.id.startsWith(prefix)) found.push({ id: item.id, about: aboutOf(item) });
      // Newest first: what follows is older than every id that begins so.
      else if (item.id < prefix) break;
    }
    return found;
  });
}

/** Every item of a list, page by page. */
export async function* each<Item>(list: ListPage<Item>): AsyncGenerator<Item> {
  let cursor: string | null | undefined;
  do {
    const page: Awaited<ReturnType<ListPage<Item>>> = await list({ limit: 500, ...(cursor && { cursor }) });
    yield* page.items;
    cursor = page.next_cursor;
  } while (cursor !== null);
}

/** Says which name may have been meant, where something of another name is not there. */
export async function withSuggestion<Result>(
  typed: string,
  work: () => Promise<Result>,
  list: ListPage<{ name: string }>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "NOT_FOUND") throw error;
    // The first page alone: a hint is worth no more.
    const { items } = await list({ limit: 500 });
    const names = items.map(({ name }) => name);
    // Where there is one of that name, something else was not found.
    const hint = names.includes(typed) ? "" : didYouMean(typed, names);
    throw hint === "" ? error : notFound(`${error.message}${hint}`);
  }
}

/** " Did you mean ...?", or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const found = nearNames(typed, names).slice(0, mostMeant);
  return found.length === 0 ? "" : ` Did you mean ${found.map((name) => JSON.stringify(name)).join(" or ")}?`;
}
