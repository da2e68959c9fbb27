/** Changing many agents in one call: each in a step of its own, so that one that fails keeps none of the others. */
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError, type ErrorCode, type Issue } from "../errors.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../json.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import type { AgentDocument } from "./documents.ts";
import { mostAgentsAtOnce, type AgentOutcome, type AgentOutcomes } from "./many-schemas.ts";
import type { AgentRegistry } from "./registry.ts";

/** How many are changed side by side: their steps are written together. */
const sideBySide = 50;
/** How often those are tried again that others of them may let through. */
const mostRounds = 10;

/** Which agents a call names. */
export interface Which {
  node_ids?: string[] | undefined;
  selector?: string | undefined;
  cursor?: string | undefined;
}

/** The agents that a call is about. */
export interface ChosenAgents {
  nodeIds: readonly string[];
  nextCursor: string | null;
}

/** How each of them is changed. */
export interface EachChange {
  /** Resolves with whether anything changed. */
  change: (nodeId: string) => Promise<boolean>;
  /** Errors that say that somebody else has decided about the agent. */
  leavesOut?: readonly ErrorCode[];
  /** An error that may be gone once others of them have changed: a name that one of them gives up. */
  mayPass?: ErrorCode;
  /** Those of them that are changed first, one after the other, in this order. The others come in any order, some side by side. */
  inOrder?: readonly string[];
}

export class ManyAgents {
  readonly #context: Context;
  readonly #registry: AgentRegistry;

  constructor(context: Context, registry: AgentRegistry) {
    this.#context = context;
    this.#registry = registry;
  }

  /**
   * Finds the agents that a call is about: those that it names, or the next that its selector matches and that have one of some
   * statuses. Looks at what the selector matches, and at no more.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` where it names none, or both; `SELECTOR_INVALID`; `CURSOR_INVALID`; `NO_MATCH`.
   */
  choose({ node_ids: nodeIds, selector, cursor }: Which, statuses: readonly AgentStatus[]): ChosenAgents {
    const isEither = (nodeIds === undefined) !== (selector === undefined);
    if (!isEither) throw invalid("node_ids", "name agents by node_ids, or by a selector");
    if (selector !== undefined) return this.#matching({ selector, cursor }, statuses);
    if (cursor !== undefined) throw invalid("cursor", "belongs to a selector");
    return { nodeIds: [...new Set(nodeIds)], nextCursor: null };
  }

  /** Changes each of them, some side by side. What failed is told with the agent; only what is the caller's own fault ends the call. */
  async each({ nodeIds, nextCursor }: ChosenAgents, how: EachChange): Promise<AgentOutcomes> {
    const outcomes = new Map<string, AgentOutcome>();
    const { inOrder = [] } = how;
    const isFirst = new Set(inOrder);
    const others = nodeIds.filter((nodeId) => !isFirst.has(nodeId));
    let tried = [...(await this.#round(inOrder, how, 1)), ...(await this.#round(others, how))];
    for (let round = 1; ; round += 1) {
      for (const outcome of tried) outcomes.set(outcome.node_id, outcome);
      const hasMoved = how.mayPass !== undefined && tried.some(({ outcome }) => outcome === "changed");
      const left = tried.filter(({ error }) => error !== undefined && error.code === how.mayPass);
      if (!hasMoved || left.length === 0 || round === mostRounds) break;
      tried = await this.#round(
        left.map(({ node_id }) => node_id),
        how,
      );
    }
    const items = nodeIds.flatMap((nodeId) => outcomes.get(nodeId) ?? []);
    const after = await this.#afterwards(nodeIds);
    return {
      items: items.map((item) => {
        const { name, status } = after.get(item.node_id) ?? {};
        return { ...item, ...(name !== undefined && { name }), ...(status && { status }) };
      }),
      ...countsOf(items),
      next_cursor: nextCursor,
    };
  }

  /** As they are now, with one read for all of them. Where that fails what was done is told all the same, without names. */
  async #afterwards(nodeIds: readonly string[]): Promise<Map<string, Readonly<AgentDocument>>> {
    try {
      return new Map((await this.#registry.findAll(nodeIds)).map(({ key, value }) => [key, value]));
    } catch (error) {
      this.#context.logger.warn("Agents could not be read after they were changed.", { error });
      return new Map();
    }
  }

  async #round(
    nodeIds: readonly string[],
    how: EachChange,
    atOnce: number = sideBySide,
  ): Promise<AgentOutcome[]> {
    const tried: AgentOutcome[] = [];
    for (let at = 0; at < nodeIds.length; at += atOnce) {
      const slice = nodeIds.slice(at, at + atOnce);
      tried.push(...(await Promise.all(slice.map((nodeId) => this.#one(nodeId, how)))));
    }
    return tried;
  }

  async #one(nodeId: string, { change, leavesOut = [] }: EachChange): Promise<AgentOutcome> {
    try {
      return { node_id: nodeId, outcome: (await change(nodeId)) ? "changed" : "unchanged" };
    } catch (error) {
      if (!isOrchestratorError(error))
        this.#context.logger.error("An agent of many could not be changed.", { error, node_id: nodeId });
      const { code, message, issues } = isOrchestratorError(error)
        ? error
        : new OrchestratorError("INTERNAL");
      return {
        node_id: nodeId,
        outcome: leavesOut.includes(code) ? "left_out" : "failed",
        error: { code, message: issues.length > 0 ? toSentences(issues) : message },
      };
    }
  }

  #matching(
    { selector, cursor }: { selector: string; cursor: string | undefined },
    statuses: readonly AgentStatus[],
  ): ChosenAgents {
    const { index, selectors } = this.#registry;
    const parsed = selectors.parse(selector);
    const filter: JsonObject = { selector, statuses: [...statuses] };
    const found: string[] = [];
    let after: string | null = cursor === undefined ? "" : String(decodeCursor(list, filter, cursor));
    while (after !== null && found.length <= mostAgentsAtOnce) {
      const { items, next }: { items: string[]; next: string | null } = index.page(parsed, {
        after,
        limit: mostAgentsAtOnce,
      });
      for (const nodeId of items) {
        const status = this.#registry.statusOf(nodeId);
        if (status !== null && statuses.includes(status)) found.push(nodeId);
      }
      after = next;
    }
    if (found.length === 0 && cursor === undefined) throw new OrchestratorError("NO_MATCH");
    const nodeIds = found.slice(0, mostAgentsAtOnce);
    const isMore = found.length > nodeIds.length;
    return { nodeIds, nextCursor: isMore ? encodeCursor(list, filter, nodeIds.at(-1)!) : null };
  }
}

/** What cursors belong to. */
const list = "many agents";

/** What is wrong, without places: the agent is the place. */
function toSentences(issues: readonly Issue[]): string {
  return issues
    .map(({ message }) => message.charAt(0).toUpperCase() + message.slice(1).replace(/\.?$/, "."))
    .join(" ");
}

/** A fault of a call that names its agents wrongly. */
export function invalid(field: string, message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [field], message }] });
}

function countsOf(items: readonly AgentOutcome[]): Omit<AgentOutcomes, "items" | "next_cursor"> {
  const count = (outcome: AgentOutcome["outcome"]): number =>
    items.filter((item) => item.outcome === outcome).length;
  return {
    changed: count("changed"),
    unchanged: count("unchanged"),
    left_out: count("left_out"),
    failed: count("failed"),
  };
}
