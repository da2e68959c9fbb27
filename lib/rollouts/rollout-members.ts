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

  /** The first agents of a rollout. */
  async first({ rollout, targets }: Listed): Promise<RolloutMember[]> {
    const members: RolloutMember[] = [];
    for await (const stretch of this.#stretches({ rollout, targets }, { from: 0, most: mostShown }))
      members.push(...stretch);
    return members;
  }

  /** Pages through the agents of a rollout, in its order. */
  async page(
    { rollout, targets }: Listed,
    { limit = 50, cursor, ...filter }: z.output<typeof listMembersInput>,
  ): Promise<Page<RolloutMember>> {
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

  async *#stretches(
    { rollout, targets }: Listed,
    { from, most }: { from: number; most: number },
  ): AsyncGenerator<RolloutMember[]> {
    const end = Math.min(from + most, targets.agents.length);
    for (let at = from; at < end; at += atOnce) {
      if (at > from) await nextTurn();
      const to = Math.min(at + atOnce, end);
      const nodeIds = targets.agents.slice(at, to).map(({ node_id }) => node_id);
      const [operations, refusals] = await Promise.all([
        this.#operations.ofRolloutOn(rollout.rollout_id, nodeIds),
        this.#store.refusalsOf(rollout.rollout_id, nodeIds),
      ]);
      yield toMembers(rollout, targets, { from: at, to, operations, refusals, freezeOf: this.#freezeOf });
    }
  }
}

function toPlace(position: string | number): number {
  if (typeof position === "number" && Number.isSafeInteger(position) && position >= 0) return position;
  throw new OrchestratorError("CURSOR_INVALID");
}
