/** The agents of a rollout, each with its operation, a stretch at a time: what one call costs does not grow with the fleet. */
import type { z } from "zod";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { JsonObject } from "../json.ts";
import type { OperationStore } from "../operations/operation-store.ts";
import type { RolloutDocument } from "./documents.ts";
import type { RolloutStore } from "./rollout-store.ts";
import { type Stretch, toMembers } from "./rollout-view.ts";
import type { listMembersInput, RolloutMember } from "./schemas.ts";
import type { Targets } from "./targets.ts";

/** How many agents a rollout itself is shown with. */
export const mostShown = 1_000;
/** Agents that one call looks at, however few pass its filter. */
const mostRead = 2_000;
/** Agents that are looked at between two turns of the event loop. */
const atOnce = 200;

/** A rollout with its list of agents. */
export interface Listed {
  rollout: Readonly<RolloutDocument>;
  targets: Targets;
}

export class RolloutMembers {
  readonly #operations: OperationStore;
  readonly #store: RolloutStore;
  readonly #freezeOf: Stretch["freezeOf"];

  constructor(parts: { operations: OperationStore; freezeOf: Stretch["freezeOf"]; store: RolloutStore }) {
    this.#operations = parts.operations;
    this.#freezeOf = parts.freezeOf;
    this.#store = parts.store;
  }

  /** The first agents of a rollout; 1,000 at most. */
  async first({ rollout, targets }: Listed, most: number = mostShown): Promise<RolloutMember[]> {
    const members: RolloutMember[] = [];
    for await (const stretch of this.#stretches({ rollout, targets }, { from: 0, most }))
      members.push(...stretch);
    return members;
  }

  /** The first agents of a rollout that was just written: none has begun. */
  waiting({ rollout, targets }: Listed, most: number = mostShown): RolloutMember[] {
    const to = Math.min(most, targets.agents.length);
    const none = { operations: new Map(), refusals: new Map(), freezeOf: this.#freezeOf };
    return toMembers(rollout, targets, { from: 0, to, ...none });
  }

  /** Pages through the agents of a rollout, in its order. */
  async page(
    { rollout, targets }: Listed,
    { limit = 50, cursor, ...filter }: z.output<typeof listMembersInput>,
  ): Promise<Page<RolloutMember>> {
    const { changes } = filter;
    if (changes !== undefined)
      return this.#ofGroup({ rollout, targets }, { limit, cursor, ...filter, changes });
    const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
    const from = cursor === undefined ? 0 : toPlace(decodeCursor("rollout_agents", bound, cursor));
    const items: RolloutMember[] = [];
    let at = from;
    const page = (): Page<RolloutMember> => {
      const isEnd = at >= targets.agents.length;
      return { items, next_cursor: isEnd ? null : encodeCursor("rollout_agents", bound, at) };
    };
    for await (const stretch of this.#stretches({ rollout, targets }, { from, most: mostRead })) {
      for (const member of stretch) {
        if (items.length === limit) return page();
        at += 1;
        if (filter.status === undefined || member.status === filter.status) items.push(member);
      }
    }
    return page();
  }

  /** The agents of one group: those with an operation in the order in which they are begun, then those that were refused. */
  async #ofGroup(
    listed: Listed,
    { limit, cursor, ...filter }: z.output<typeof listMembersInput> & { limit: number; changes: string },
  ): Promise<Page<RolloutMember>> {
    const { rollout_id, changes, status } = filter;
    const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
    const from = cursor === undefined ? "" : String(decodeCursor("rollout_group", bound, cursor));
    const page = await this.#store.membersOf({ rollout_id, changes }, { limit, from });
    const items = await this.#at(listed, page.nodeIds);
    return {
      items: items.filter((member) => status === undefined || member.status === status),
      next_cursor: page.next === null ? null : encodeCursor("rollout_group", bound, page.next),
    };
  }

  /** Some agents of a rollout, in the order in which they are named. */
  async #at({ rollout, targets }: Listed, nodeIds: readonly string[]): Promise<RolloutMember[]> {
    const places = new Map(nodeIds.map((nodeId) => [nodeId, -1]));
    for (const [place, { node_id }] of targets.agents.entries())
      if (places.has(node_id)) places.set(node_id, place);
    const known = await this.#known(rollout.rollout_id, nodeIds);
    return [...places.values()].flatMap((from) =>
      from < 0 ? [] : toMembers(rollout, targets, { from, to: from + 1, ...known }),
    );
  }

  async #known(
    rolloutId: string,
    nodeIds: readonly string[],
  ): Promise<Pick<Stretch, "operations" | "refusals" | "freezeOf">> {
    const [operations, refusals] = await Promise.all([
      this.#operations.ofRolloutOn(rolloutId, nodeIds),
      this.#store.refusalsOf(rolloutId, nodeIds),
    ]);
    return { operations, refusals, freezeOf: this.#freezeOf };
  }

  async *#stretches(
    { rollout, targets }: Listed,
    { from, most }: { from: number; most: number },
  ): AsyncGenerator<RolloutMember[]> {
    const end = Math.min(from + most, targets.agents.length);
    for (let at = from; at < end; at += atOnce) {
      if (at > from) await nextTurn();
      const to = Math.min(at + atOnce, end);
      const nodeIds = targets.agents.slice(at, to).map(({ node_id }) => node_id);
      const known = await this.#known(rollout.rollout_id, nodeIds);
      yield toMembers(rollout, targets, { from: at, to, ...known });
    }
  }
}

function toPlace(position: string | number): number {
  if (typeof position === "number" && Number.isSafeInteger(position) && position >= 0) return position;
  throw new OrchestratorError("CURSOR_INVALID");
}
