/**
 * Agents of a rollout with equal changes, counted as their operations end:
 *
 * ```
 *   operation ended ──digest of what it says──▶ group in memory ──within a second──▶ document of the group
 * ```
 * There is one document for each group, however many agents are in it. Counts are written whole, never added to: writing them twice
 * changes nothing, and after a restart they are counted anew from the operations.
 */
import type { OperationDocument } from "../operations/documents.ts";
import { toCounts } from "../state/result.ts";
import type { Write } from "../storage/storage.ts";
import { toGroupPut, groupKey, type GroupDocument } from "./group-documents.ts";
import { outcomeOf } from "./recap.ts";

/** What makes the group of an operation that has ended. */
export type GroupEnd = Pick<OperationDocument, "status" | "counts" | "error"> & {
  changes?: string | undefined;
};

type Group = Omit<GroupDocument, "rollout_id">;

export class ChangeGroups {
  readonly #groups = new Map<string, Group>();
  readonly #unwritten = new Set<string>();

  /** The same text for every operation of a group, so that it is in memory once. */
  nameOf(changes: string | undefined): string | undefined {
    return changes === undefined ? undefined : (this.#groups.get(changes)?.changes ?? changes);
  }

  /** One more agent. Nothing where the operation is of a version that had no groups. */
  join(ended: Readonly<GroupEnd>): void {
    const { changes } = ended;
    if (changes === undefined) return;
    const known = this.#groups.get(changes);
    if (known) known.agents += 1;
    else this.#groups.set(changes, toGroup(changes, ended));
    this.#unwritten.add(changes);
  }

  /** One agent less: it is known now how its operation ended. */
  leave(changes: string | undefined): void {
    const known = changes === undefined ? undefined : this.#groups.get(changes);
    if (!known) return;
    known.agents -= 1;
    this.#unwritten.add(known.changes);
  }

  /** A group that is stored: where nobody is in it any more it goes with the next write. */
  recall(group: Readonly<GroupDocument>): void {
    const { changes } = group;
    if (!this.#groups.has(changes)) this.#groups.set(changes, { ...group, agents: 0 });
    this.#unwritten.add(changes);
  }

  /** Whether something is not written yet. */
  get isUnwritten(): boolean {
    return this.#unwritten.size > 0;
  }

  /** Takes some of what is to be written; {@link giveBack} where it was not. */
  take(rolloutId: string, most: number): { writes: Write[]; taken: readonly string[] } {
    const taken = [...this.#unwritten].slice(0, most);
    for (const changes of taken) this.#unwritten.delete(changes);
    return { taken, writes: taken.map((changes) => this.#toWrite(rolloutId, this.#groups.get(changes)!)) };
  }

  giveBack(taken: readonly string[]): void {
    for (const changes of taken) this.#unwritten.add(changes);
  }

  #toWrite(rolloutId: string, group: Group): Write {
    if (group.agents > 0) return toGroupPut({ rollout_id: rolloutId, ...group });
    return { kind: "delete", collection: "rollout_groups", key: groupKey(rolloutId, group.changes) };
  }
}

/** A group of one agent. */
export function toGroup(changes: string, ended: Readonly<GroupEnd>): Group {
  const { changed, would_change, unknown, removed, failed } = toCounts(ended.counts);
  const { status, error } = ended;
  return {
    changes,
    agents: 1,
    outcome: outcomeOf(ended),
    status,
    counts: { changed, would_change, unknown, removed, failed },
    ...(error && { error }),
  };
}
