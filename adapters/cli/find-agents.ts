/** Which agents a command is about: those that are named, those that a selector matches, or all that wait. */
import type { Agent } from "fleetwright";
import { ApiError } from "../client/api-error.ts";
import { collect, type CommandCall } from "./call.ts";
import { UsageError } from "./failure.ts";
import { findAgent } from "./find-agent.ts";
import { notFound } from "./find-id.ts";

/** How agents are named. */
export interface WhichAgents {
  names: readonly string[];
  selector?: string | undefined;
  allPending?: true | undefined;
}

/** An agent, and what it was called when it was found. */
export interface FoundAgent {
  node_id: string;
  label: string;
  /** As it was then; absent where a `node_id` was typed, which is not looked up. */
  agent?: Agent;
}

/** Something that could not be done to one of several, by what was typed. */
export interface Failed {
  text: string;
  error: unknown;
}

/** The agents that were found, and what was not. */
export interface FoundAgents {
  found: FoundAgent[];
  failed: Failed[];
}

/** Up to so many are looked up one by one; for more, the list of the fleet is read, 500 of them with each call. */
const mostLookups = 20;

/**
 * Finds the agents that a command names in one of its ways.
 *
 * @param isMeant - Which of those that a selector matches.
 * @throws {UsageError} Where it names none, or in two ways.
 * @throws {ApiError} `NOT_FOUND` where a selector matches none that is meant.
 */
export async function findAgents(
  call: CommandCall,
  { names, selector, allPending }: WhichAgents,
  isMeant: (agent: Agent) => boolean,
): Promise<FoundAgents> {
  const ways = [names.length > 0, selector !== undefined, allPending === true].filter(Boolean).length;
  if (ways !== 1)
    throw new UsageError("Name agents, or say --selector or --all-pending; one of these, and not two.");
  if (names.length > 0) return findNamed(call, names);
  const filter = selector === undefined ? { status: "pending" as const } : { selector };
  const { items } = await collect(call.client.agents.list, { ...filter, limit: Infinity });
  const meant = items.filter(isMeant);
  if (selector !== undefined && meant.length === 0)
    throw notFound(
      items.length === 0
        ? `The selector ${JSON.stringify(selector)} matches no agent.`
        : `Of the agents that ${JSON.stringify(selector)} matches, none is one that this is for.`,
    );
  return { found: meant.map(toFound), failed: [] };
}

async function findNamed(call: CommandCall, names: readonly string[]): Promise<FoundAgents> {
  const looked = names.filter((name) => !isNodeId(name));
  const known = looked.length > mostLookups ? await readFleet(call) : null;
  const found = new Map<string, FoundAgent>();
  const failed: Failed[] = [];
  for (const text of names)
    try {
      if (isNodeId(text)) {
        if (!found.has(text)) found.set(text, { node_id: text, label: text });
        continue;
      }
      // What is no name in the list may be a hostname, or the beginning of an id.
      const agent = known?.get(text) ?? (await findAgent(call.client, text));
      found.set(agent.node_id, toFound(agent));
    } catch (error) {
      // Without a session, or a server, the next ones fare no better.
      if (!(error instanceof UsageError) && !(error instanceof ApiError && error.code === "NOT_FOUND"))
        throw error;
      failed.push({ text, error });
    }
  return { found: [...found.values()], failed };
}

async function readFleet({ client }: CommandCall): Promise<ReadonlyMap<string, Agent>> {
  const { items } = await collect(client.agents.list, { limit: Infinity });
  return new Map(items.flatMap((agent) => (agent.name === undefined ? [] : [[agent.name, agent] as const])));
}

function isNodeId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

function toFound(agent: Agent): FoundAgent {
  const { node_id, name, hostname } = agent;
  return { node_id, label: name ?? hostname, agent };
}
