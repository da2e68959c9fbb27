/**
 * Groups of agents with equal changes as callers see them: the changes once, as the first agent of each told them. What one call costs does
 * not grow with the agents: it reads as many groups as it shows, and of each what its first agents did.
 */
import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationService } from "../operations/operation-service.ts";
import { type ResourceResult, toCounts } from "../state/result.ts";
import type { RefusalDocument } from "./documents.ts";
import type { GroupDocument } from "./group-documents.ts";
import type { listGroupsInput, RolloutGroup } from "./schemas.ts";

/** Agents that a group names. */
const shownAgents = 10;
/** Resources that a group shows, characters of JSON that they have, and that one of them has. */
const mostResources = 100;
const groupSize = 65_536;
const resourceSize = 32_768;
/** Characters of JSON of all groups of a page, after which it ends. */
const pageSize = 524_288;

/** What it asks of other features. */
interface Features {
  agents: Pick<AgentService, "describe">;
  operations: Pick<OperationService, "saidBy">;
}

type Member = RolloutGroup["agents"][number];

/** What the first agents of a group are. */
interface Members {
  agents: Member[];
  /** The operation of the first; null where none is kept. */
  example: Readonly<OperationDocument> | null;
}

/** Pages through the groups of a rollout, smallest first. */
export async function listGroups(
  context: Context,
  { rollout_id, limit = 50, cursor, show_resources = mostResources }: z.output<typeof listGroupsInput>,
  features: Features,
): Promise<Page<RolloutGroup>> {
  const bound = { rollout_id };
  let after = cursor === undefined ? undefined : String(decodeCursor("rollout_groups", bound, cursor));
  const items: RolloutGroup[] = [];
  let size = 0;
  while (items.length < limit && size < pageSize) {
    // One by one: whether there is room for another is known once this one is there.
    const page = await context.storage.list<GroupDocument>("rollout_groups", {
      index: "by_agents",
      equals: [rollout_id],
      limit: 1,
      ...(after !== undefined && { after }),
    });
    const [group] = page.items;
    if (group) {
      const shown = await toShown(context, group.value, { ...features, most: show_resources });
      size += JSON.stringify(shown).length;
      items.push(shown);
    }
    if (page.next === null) return { items, next_cursor: null };
    after = page.next;
  }
  return { items, next_cursor: encodeCursor("rollout_groups", bound, after!) };
}

async function toShown(
  context: Context,
  stored: Readonly<GroupDocument>,
  { agents: known, operations, most }: Features & { most: number },
): Promise<RolloutGroup> {
  const { rollout_id: _, agents: count, ...group } = stored;
  const { agents, example } = await firstOf(context, stored, known);
  const said = example ? await saidBy(operations, example, most) : { resources: [], truncated: false };
  return { ...group, count, agents, ...said };
}

async function firstOf(
  { storage }: Context,
  { rollout_id, changes }: GroupDocument,
  known: Features["agents"],
): Promise<Members> {
  const query = { index: "by_rollout_changes", equals: [rollout_id, changes], limit: shownAgents };
  const operations = (await storage.list<OperationDocument>("operations", query)).items;
  const left = shownAgents - operations.length;
  const refusals =
    left > 0
      ? (await storage.list<RefusalDocument>("rollout_refusals", { ...query, limit: left })).items
      : [];
  const refused = refusals.map(({ value }) => value.node_id);
  const names = new Map((await known.describe(refused)).map(({ node_id, name }) => [node_id, name]));
  const agents = [
    ...operations.map(({ value: { node_id, agent_name: name, operation_id } }) => ({
      node_id,
      name,
      operation_id,
    })),
    // One that was removed since has no name any more.
    ...refused.map((node_id) => ({ node_id, name: names.get(node_id) ?? node_id })),
  ];
  return { agents, example: operations[0]?.value ?? null };
}

/** What an operation says, as much of it as a group shows. */
async function saidBy(
  operations: Features["operations"],
  operation: Readonly<OperationDocument>,
  most: number,
): Promise<Pick<RolloutGroup, "resources" | "truncated">> {
  const resources: ResourceResult[] = [];
  let size = 0;
  const { total, unchanged, skipped } = toCounts(operation.counts);
  // Whether what is skipped is said, its results alone tell: those of all other groups need not be read for that.
  const isCounted = total === unchanged || total > unchanged + skipped;
  if (most === 0 && isCounted) return { resources, truncated: total > unchanged };
  for await (const result of operations.saidBy(operation)) {
    const { shown, isCut } = cut(result);
    size += JSON.stringify(shown).length;
    if (resources.length === most || size > groupSize) return { resources, truncated: true };
    resources.push(shown);
    if (isCut) return { resources, truncated: true };
  }
  return { resources, truncated: false };
}

/** Of a resource with very many or very long changes the first. */
function cut(result: ResourceResult): { shown: ResourceResult; isCut: boolean } {
  let left = resourceSize;
  const end = result.changes.findIndex((change) => (left -= JSON.stringify(change).length) < 0);
  if (end < 0) return { shown: result, isCut: false };
  return { shown: { ...result, changes: result.changes.slice(0, end) }, isCut: true };
}
