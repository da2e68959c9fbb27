/** Names for completion: from the server, page by page for a second at most, or from the folder of the user. */
import { createClient } from "../../client/client.ts";
import type { Client } from "../../client/client.ts";
import type { CommandContext } from "../context.ts";
import { each } from "../find-id.ts";
import type { ListPage } from "../find-id.ts";
import { profileNames, readProfile, serverUrl } from "../profile.ts";
import { statusesOfAgents } from "../vocabulary.ts";
import type { NameSource } from "../vocabulary.ts";
import type { Place, Word } from "./place.ts";

/** A command that completes starts, asks and ends within about a second. */
const longestWaitMs = 800;

/** Of a fleet with more of a kind than this nobody reads the names that a shell would list. */
const mostNames = 20_000;

/**
 * Names that begin as typed, as many as are found in time. None where nobody is signed in, and where the server is away, slow or refuses: nobody who types a line wants to
 * read why.
 */
export async function findNames(
  context: CommandContext,
  { source, typed, given, command }: Pick<Place, "source" | "typed" | "given" | "command">,
): Promise<Word[]> {
  if (source === null || source === "files" || source === "folders") return [];
  try {
    if (source === "profiles") return profiles(context);
    const client = connect(context, given);
    return client === null ? [] : await ask[source](client, { typed, command, given });
  } catch {
    return [];
  }
}

/** Calls with the session that there is and opens none: that would take more calls, and a passphrase that nobody can be asked for. */
function connect(context: CommandContext, given: Place["given"]): Client | null {
  const profile = readProfile(context);
  const url = serverUrl(context, given.url, profile);
  // A session belongs to the server that opened it, and no other is to see its token.
  if (profile?.token === undefined || profile.url !== url) return null;
  const signal = AbortSignal.timeout(longestWaitMs);
  return createClient({
    url,
    token: profile.token,
    retry: { attempts: 1 },
    fetch: (target, init) => fetch(target, { ...init, signal }),
  });
}

type Asked = Pick<Place, "typed" | "given" | "command">;
type Ask = (client: Client, asked: Asked) => Promise<Word[]>;

/** Every item of a list. Where the time is over, or a page is refused, those that were read: some names are better than none. */
async function all<Item>(list: ListPage<Item>): Promise<Item[]> {
  const items: Item[] = [];
  try {
    for await (const item of each(list)) if (items.push(item) === mostNames) break;
  } catch {
    // Nobody who types a line wants to read why.
  }
  return items;
}

const ask: Readonly<Record<Exclude<NameSource, "profiles" | "files" | "folders">, Ask>> = {
  agents: findAgents,
  assignments: async ({ assignments }) => named(await all(assignments.list)),
  channels: async ({ channels }) => ids(await all(channels.list)),
  "enrolment tokens": async ({ enrolmentTokens }) => ids(await all(enrolmentTokens.list)),
  modules: async ({ modules }) => named(await all(modules.list)),
  operations: async ({ operations }, { typed }) =>
    (await operations.list(newest(typed))).items.map(({ operation_id, kind, agent_name, status }) => ({
      word: operation_id,
      about: `${kind} on ${agent_name}: ${status}`,
    })),
  operators: async ({ operators }) =>
    (await all(operators.list)).map(({ username, role }) => ({ word: username, about: role })),
  rollouts: async ({ rollouts }, { typed }) =>
    (await rollouts.list(newest(typed))).items.map(({ rollout_id, kind, assignment, command, status }) => ({
      word: rollout_id,
      about: `${kind} of ${assignment ?? command ?? "a script"}: ${status}`,
    })),
  secrets: async ({ secrets }) => named(await all(secrets.list)),
  terminals: async ({ terminals }, { typed }) =>
    (await terminals.list(newest(typed))).items.map(({ session_id, agent_name, status }) => ({
      word: session_id,
      about: `on ${agent_name}: ${status}`,
    })),
  thresholds: async ({ thresholds }) => ids(await all(thresholds.list)),
  windows: async ({ maintenanceWindows }) =>
    (await all(maintenanceWindows.list)).map(({ id, reason, mode }) => ({
      word: id,
      about: `${mode}: ${reason}`,
    })),
};

/** Of one that has no name yet its hostname; from as many digits on as commands take, ids. Only those that the command is for. */
async function findAgents({ agents }: Client, { typed, command }: Asked): Promise<Word[]> {
  const isId = /^[0-9a-f]{8,32}$/.test(typed);
  const which = isId ? { id_prefix: typed } : typed === "" ? {} : { search: typed.slice(0, 100) };
  const found = (statusesOfAgents[command] ?? [undefined]).map((status) =>
    all((page) => agents.list({ ...which, ...(status && { status }), ...page })),
  );
  return (await Promise.all(found)).flat().map((agent) => ({
    word: isId ? agent.node_id : (agent.name ?? agent.hostname),
    about: isId ? (agent.name ?? agent.hostname) : agent.status,
  }));
}

/** Of what there are ever more the newest few, or those that begin as typed. */
function newest(typed: string): { limit: number; id_prefix?: string } {
  return /^[0-9a-f][0-9a-f-]{3,35}$/.test(typed) ? { limit: 50, id_prefix: typed } : { limit: 50 };
}

function named(items: readonly { name: string }[]): Word[] {
  return items.map(({ name }) => ({ word: name }));
}

function ids(items: readonly { id: string; name?: string | undefined }[]): Word[] {
  return items.map(({ id, name = "" }) => ({ word: id, about: name }));
}

function profiles(context: CommandContext): Word[] {
  return profileNames(context).map((word) => ({ word }));
}
