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

/** What has an id, and the command that lists it. */
const lists = {
  delivery: "channels deliveries",
  notification: "notifications list",
  operation: "operations list",
  rollout: "rollouts list",
  run: "rollouts list",
  terminal: "terminal list",
  token: "enrol list",
  window: "windows list",
} as const;

/** What people know by an id. */
type IdKind = keyof typeof lists;

/** Names that are told of those that may have been meant. */
const mostMeant = 3;

/**
 * Finds the one id that begins with what was typed. A whole one is not looked up: the server says where it is none.
 *
 * @param list - Finds what begins so; one more than {@link mostTold} is enough.
 * @throws {UsageError} Where more than one begins so.
 * @throws {ApiError} `NOT_FOUND` where none does, or can.
 */
export async function findId(
  kind: IdKind,
  typed: string,
  list: (prefix: string, limit: number) => Promise<readonly Candidate[]>,
): Promise<string> {
  const text = typed.toLowerCase();
  if (!/^[0-9a-f][0-9a-f-]{3,35}$/.test(text) || /^[0-9a-f]{9}/.test(text)) throw noId(kind, typed);
  if (text.length === 36) return text;
  const found = await list(text, mostTold + 1);
  const [first, second] = found;
  if (!first) throw notFound(`There is no ${kind} that begins with ${JSON.stringify(typed)}.`);
  if (second) throw ambiguous(kind, typed, found);
  return first.id;
}

/** What was typed is no id, e.g. the name of an assignment in the place of a rollout. */
function noId(kind: IdKind, typed: string): ApiError {
  return notFound(
    `There is no ${kind} ${JSON.stringify(typed)}. It is named by its id, or by 4 characters and more that only this one begins with: see \`fleetwright ${lists[kind]}\`.`,
  );
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
export function findRollout(
  { rollouts }: Client,
  typed: string,
  called: "rollout" | "run" = "rollout",
): Promise<string> {
  return findId(called, typed, async (id_prefix, limit) =>
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
  kind: IdKind,
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

/**
 * The same of what has a name, which several may have: one of that name, or the one whose id begins so.
 *
 * @throws {UsageError} Where several are called so, or begin so.
 * @throws {ApiError} `NOT_FOUND` where none is, with names that may have been meant.
 */
export async function findNamed<Item extends { id: string; name: string }>(
  kind: string,
  typed: string,
  list: ListPage<Item>,
): Promise<Item> {
  const items: Item[] = [];
  for await (const item of each(list)) items.push(item);
  const [named, another] = items.filter(({ name }) => name === typed);
  if (another)
    throw new UsageError(`Several ${kind}s are called ${JSON.stringify(typed)}: name one by its id.`);
  if (named) return named;
  const isId = /^[0-9a-f][0-9a-f-]{3,}$/i.test(typed);
  const begun = isId ? items.filter(({ id }) => id.startsWith(typed.toLowerCase())) : [];
  const [first, second] = begun;
  if (second)
    throw ambiguous(
      kind,
      typed,
      begun.map(({ id, name }) => ({ id, about: name })),
    );
  if (first) return first;
  const names = items.map(({ name }) => name);
  throw notFound(`There is no ${kind} ${JSON.stringify(typed)}.${didYouMean(typed, names)}`);
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

/** What a command was told the names of. */
export type NamedKind = "assignment" | "module" | "secret";

/** Names as they were typed. */
export type TypedNames = Partial<Record<NamedKind, string | readonly string[] | undefined>>;

/** Says which name may have been meant, where something of another name is not there or nothing can have such a name. */
export async function withSuggestion<Result>(
  call: { readonly client: Client },
  names: TypedNames,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || !isOfNames(error)) throw error;
    for (const kind of namedKinds) {
      const typed = [names[kind] ?? []].flat().map((name) => name.replace(/@.*$/, ""));
      if (typed.length > 0) requireKnown(error, { kind, typed, known: await namesOf(call.client, kind) });
    }
    throw error;
  }
}

const namedKinds: readonly NamedKind[] = ["assignment", "module", "secret"];

/** Whether a refusal may be one of a name: it is not there, or is none. */
function isOfNames({ code, problem }: ApiError): boolean {
  if (code !== "VALIDATION_FAILED") return code === "NOT_FOUND";
  const faults = problem.errors ?? [];
  return faults.every(({ pointer }) =>
    /^\/(name|module|assignment|secret_before|(remove_)?modules\/\d+)$/.test(pointer),
  );
}

/** The first page alone: a hint is worth no more. */
async function namesOf(client: Client, kind: NamedKind): Promise<string[]> {
  const { items } = await client[`${kind}s`].list({ limit: 500 });
  return items.map(({ name }) => name);
}

/** @throws {ApiError} Where a name is not known, with those that it is near to. */
function requireKnown(
  { code, message }: ApiError,
  { kind, typed, known }: { kind: NamedKind; typed: readonly string[]; known: readonly string[] },
): void {
  for (const name of typed) {
    // Where there is one of that name, something else was not found.
    const hint = known.includes(name) ? "" : didYouMean(name, known);
    if (hint === "") continue;
    if (code !== "NOT_FOUND") throw notFound(`There is no ${kind} ${JSON.stringify(name)}.${hint}`);
    if (message.includes(name)) throw notFound(`${message}${hint}`);
  }
}

/** " Did you mean ...?", or nothing. */
export function didYouMean(typed: string, names: readonly string[]): string {
  const found = nearNames(typed, names).slice(0, mostMeant);
  return found.length === 0 ? "" : ` Did you mean ${found.map((name) => JSON.stringify(name)).join(" or ")}?`;
}
