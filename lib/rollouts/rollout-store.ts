/** Rollouts as they are kept: every change of one goes through here. */
import type { Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { RolloutFacts } from "../event-facts.ts";
import type { EventSubject } from "../events.ts";
import { startOf } from "../internal/canonical-json.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { RefusalDocument, RolloutDocument } from "./documents.ts";
import type { GroupDocument } from "./group-documents.ts";
import { hasEnded } from "./progress.ts";
import { rolloutStatusSchema } from "./schemas.ts";

/** A rollout after a change, and what tells of it. */
export interface RolloutChange {
  rollout: RolloutDocument;
  event?: EventInput | undefined;
  /** What else is told of it. */
  more?: readonly EventInput[];
  /** What else is written in the same step. */
  writes?: readonly Write[];
}

export class RolloutStore {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Reads a rollout; `NOT_FOUND` where there is none. */
  async read(rolloutId: string): Promise<StoredDocument<RolloutDocument>> {
    const stored = await this.#context.storage.get<RolloutDocument>("rollouts", rolloutId);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no rollout ${rolloutId}.` });
    return stored;
  }

  /** Writes a rollout as it is from now on; `before` is what was read, null for a new one. */
  async write(
    caller: Caller,
    before: StoredDocument<RolloutDocument> | null,
    { rollout, event, more = [], writes = [] }: RolloutChange,
  ): Promise<void> {
    const events = [...(event ? [event] : []), ...more];
    await this.#context.commit(caller, [toPut(before, rollout), ...writes], ...events);
  }

  /** Changes a rollout from what is stored now, again where somebody else changed it at the same time. */
  update(
    caller: Caller,
    rolloutId: string,
    change: (rollout: Readonly<RolloutDocument>) => RolloutChange,
  ): Promise<Readonly<RolloutDocument>> {
    return retryOnConflict(async () => {
      const before = await this.read(rolloutId);
      const changed = change(before.value);
      await this.write(caller, before, changed);
      return changed.rollout;
    });
  }

  /** Whether there is such a rollout and it has not ended. */
  async isOpen(rolloutId: string): Promise<boolean> {
    const stored = await this.#context.storage.get<RolloutDocument>("rollouts", rolloutId);
    return stored !== null && !hasEnded(stored.value.status);
  }

  /** Whether a rollout has this list of agents. */
  async isReferred(targets: string): Promise<boolean> {
    const query = { index: "by_targets", equals: [targets], limit: 1 };
    return (await this.#context.storage.list("rollouts", query)).items.length > 0;
  }

  /** Every rollout that has not ended. */
  async *open(): AsyncGenerator<Readonly<RolloutDocument>> {
    for (const status of rolloutStatusSchema.options.filter((each) => !hasEnded(each))) {
      const query = { index: "by_status", equals: [status] };
      for await (const { value } of eachDocument<RolloutDocument>(this.#context.storage, "rollouts", query))
        yield value;
    }
  }

  /** The rollouts that have not ended of each module: agents that are not begun yet get it. */
  async usersOf(modules: ReadonlySet<string>): Promise<Map<string, string[]>> {
    const users = new Map<string, string[]>();
    for await (const rollout of this.open()) {
      for (const { name } of rollout.modules) {
        if (modules.has(name)) users.set(name, [...(users.get(name) ?? []), `rollout ${rollout.rollout_id}`]);
      }
    }
    return users;
  }

  /** Every agent of a rollout that got no operation, and why. */
  async *refusals(rolloutId: string): AsyncGenerator<Readonly<RefusalDocument>> {
    const query = { index: "by_rollout", equals: [rolloutId] };
    const found = eachDocument<RefusalDocument>(this.#context.storage, "rollout_refusals", query);
    for await (const { value } of found) yield value;
  }

  /** Every group of agents with equal changes, smallest first. */
  async *groups(rolloutId: string): AsyncGenerator<Readonly<GroupDocument>> {
    const query = { index: "by_agents", equals: [rolloutId] };
    const found = eachDocument<GroupDocument>(this.#context.storage, "rollout_groups", query);
    for await (const { value } of found) yield value;
  }

  /**
   * A page of the agents of one group: first those with an operation, then those that were refused.
   *
   * @param page.from - What `next` of the page before was; empty for the first.
   */
  async membersOf(
    { rollout_id, changes }: { rollout_id: string; changes: string },
    { limit, from }: { limit: number; from: string },
  ): Promise<{ nodeIds: string[]; next: string | null }> {
    const equals = { index: "by_rollout_changes", equals: [rollout_id, changes] };
    const nodeIds: string[] = [];
    let at: string | null = from;
    for (const collection of ["operations", "rollout_refusals"] as const) {
      const mark = `${collection} `;
      if (at !== null && at !== "" && !at.startsWith(mark)) continue;
      const after = at === null || at === "" ? "" : at.slice(mark.length);
      const query = { ...equals, limit: limit - nodeIds.length, ...(after !== "" && { after }) };
      const page = await this.#context.storage.list<{ node_id: string }>(collection, query);
      nodeIds.push(...page.items.map(({ value }) => value.node_id));
      if (page.next !== null) return { nodeIds, next: mark + page.next };
      if (collection === "operations" && nodeIds.length === limit)
        return { nodeIds, next: "rollout_refusals " };
      at = null;
    }
    return { nodeIds, next: null };
  }

  /** Why some agents of a rollout got no operation, by node_id. */
  async refusalsOf(
    rolloutId: string,
    nodeIds: readonly string[],
  ): Promise<Map<string, Readonly<RefusalDocument>>> {
    const keys = nodeIds.map((nodeId) => refusalKey(rolloutId, nodeId));
    const found = await this.#context.storage.getMany<RefusalDocument>("rollout_refusals", keys);
    return new Map(found.flatMap((refusal) => (refusal ? [[refusal.value.node_id, refusal.value]] : [])));
  }
}

/** Where a refusal is kept. */
export function refusalKey(rolloutId: string, nodeId: string): string {
  return `${rolloutId}/${nodeId}`;
}

export function toPut(before: StoredDocument<RolloutDocument> | null, rollout: RolloutDocument): Write {
  const value = toJsonObject(rollout);
  return {
    kind: "put",
    collection: "rollouts",
    key: rollout.rollout_id,
    value,
    expected: before?.revision ?? 0,
  };
}

/** The rollout as events name it. */
export function rolloutSubject(rollout: Readonly<RolloutDocument>): EventSubject {
  return { type: "rollout", id: rollout.rollout_id, name: titleOf(rollout) };
}

/** What is rolled out, in a word: the assignment, or the beginning of a command. */
export function titleOf({ assignment, command = "" }: Readonly<RolloutDocument>): string {
  return assignment ?? firstOf(command, 80);
}

/** The beginning of a text, with an ellipsis where there is more. */
export function firstOf(text: string, most: number): string {
  return text.length <= most ? text : `${startOf(text, most - 1)}…`;
}

/** What every event of the rollout says. */
export function rolloutFacts({
  assignment,
  kind,
  command,
  matched,
}: Readonly<RolloutDocument>): RolloutFacts {
  return {
    ...(assignment !== undefined && { assignment }),
    kind,
    ...(command !== undefined && { command }),
    matched,
  };
}
