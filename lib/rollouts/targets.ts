/** Which agents a rollout goes to, in which order and batches: worked out once and kept by content, never changed. */
import type { AssignmentDocument } from "../assignments/documents.ts";
import type { RolloutStrategy } from "../assignments/schemas.ts";
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { ResolvedResource } from "../state/resource.ts";

/** An agent of a rollout. */
export interface Target {
  node_id: string;
  name: string;
}

/** An agent as the order of a rollout sees it. */
export interface Candidate extends Target {
  tags: Readonly<Record<string, string>>;
}

/** The agents of a rollout in their order, where each batch ends in it, and what is the same for all of them. */
export interface Targets {
  agents: readonly Target[];
  /** For each batch, how many agents are in it and in those before. */
  ends: readonly number[];
  /** What each of them runs, where it is a command. */
  script?: ResolvedResource;
  /** What an assignment said of its modules when it was asked for; absent of a command, and of what an earlier version made. */
  given?: Pick<AssignmentDocument, "pins" | "params">;
}

type Stored = [[string, string][], number[], (ResolvedResource | null)?, (Targets["given"] | null)?];

/** The kind of content that a list of agents is. */
export const targetsKind = "rollout";

/** Agents that are looked up at once. */
const readAtOnce = 500;

/** Looks agents up. Of a large fleet that takes long enough for others to be served in between. */
export async function readCandidates(
  nodeIds: readonly string[],
  describe: (some: readonly string[]) => Promise<Candidate[]>,
): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  for (let at = 0; at < nodeIds.length; at += readAtOnce) {
    candidates.push(...(await describe(nodeIds.slice(at, at + readAtOnce))));
    if (nodeIds.length > readAtOnce) await nextTurn();
  }
  return candidates;
}

/**
 * Puts agents into order and batches.
 *
 * @param hash - Makes a text of a text that looks like chance, for the order `shuffled`.
 */
export function planTargets(
  candidates: readonly Candidate[],
  strategy: RolloutStrategy,
  hash: (text: string) => string,
): Targets {
  const groups = new Map<string, Candidate[]>();
  for (const candidate of inOrder(candidates, strategy, hash)) {
    const value = groupOf(candidate, strategy);
    const group = groups.get(value);
    if (group) group.push(candidate);
    else groups.set(value, [candidate]);
  }
  const values = [...groups.keys()].toSorted(compareText);
  const batchSize = toNumber(strategy.batch ?? candidates.length, candidates.length, 1);
  const agents: Target[] = [];
  const ends: number[] = [];
  for (const value of values) {
    const group = groups.get(value)!;
    for (let at = 0; at < group.length;) {
      const isCanary = agents.length === 0 && strategy.canary !== undefined;
      const size = isCanary ? strategy.canary! : batchSize;
      for (const { node_id, name } of group.slice(at, at + size)) agents.push({ node_id, name });
      at += size;
      ends.push(agents.length);
    }
  }
  return { agents, ends };
}

/** A number, or a share of a whole, rounded down: what is at risk is never more than was said. */
export function toNumber(count: number | string, whole: number, least = 0): number {
  const number = typeof count === "number" ? count : Math.floor((whole * Number.parseInt(count, 10)) / 100);
  return Math.max(least, number);
}

/** Keeps targets, durable when resolved, and returns the hash that names them. */
export function saveTargets({ contents }: Context, targets: Targets): Promise<string> {
  const { agents, ends, script = null, given } = targets;
  const rows = agents.map(({ node_id, name }) => [node_id, name]);
  return contents.save(targetsKind, toUtf8(JSON.stringify([rows, ends, script, given])));
}

/** Reads targets. */
export async function loadTargets({ contents }: Context, hash: string): Promise<Targets> {
  const text = new TextDecoder().decode(await contents.read(targetsKind, hash));
  const [rows, ends, script, given] = JSON.parse(text) as Stored;
  const agents = rows.map(([node_id, name]) => ({ node_id, name }));
  return { agents, ends, ...(script && { script }), ...(given && { given }) };
}

/** A hash of texts that differs from rollout to rollout. */
export function hashWith({ crypto }: Pick<Context, "crypto">, rolloutId: string): (text: string) => string {
  return (text) => toHex(crypto.sha256(toUtf8(rolloutId + text)));
}

function inOrder(
  candidates: readonly Candidate[],
  { order = "name" }: RolloutStrategy,
  hash: (text: string) => string,
): Candidate[] {
  const keyOf = { name: byName, node_id: byId, shuffled: (each: Candidate) => hash(each.node_id) }[order];
  const keyed = candidates.map((candidate) => ({ candidate, key: keyOf(candidate) }));
  return keyed.toSorted((a, b) => compareText(a.key, b.key)).map(({ candidate }) => candidate);
}

/** Agents without the tag are a group of their own, apart from those with an empty one. */
function groupOf({ tags }: Candidate, { group_by }: RolloutStrategy): string {
  if (group_by === undefined) return "";
  return Object.hasOwn(tags, group_by) ? `=${tags[group_by]}` : "";
}

const byId = ({ node_id }: Candidate): string => node_id;
const byName = ({ name, node_id }: Candidate): string => `${name}\u0000${node_id}`;

/** No two are equal: each key holds an id, or is the hash of one. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : 1;
}
