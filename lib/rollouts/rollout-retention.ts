/**
 * Removes rollouts that ended long ago, with the reasons why agents got no operation, the groups of agents and their list. A rollout stays as
 * long as one of its operations does, however old it is.
 *
 *   ended ──its age, and no operation of it is left──▶ refusals and groups go, in slices ──▶ rollout goes, its list becomes loose
 *
 * Whatever ends the process, the next round goes on: the rollout itself goes last.
 */
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { eachOldPage, keepRetention, retentionNow } from "../upkeep/retention.ts";
import type { RolloutDocument } from "./documents.ts";
import { hasEnded } from "./progress.ts";
import { rolloutFacts, rolloutSubject, titleOf } from "./rollout-store.ts";
import { targetsKind } from "./targets.ts";

/** Refusals, or groups, of one rollout that are removed in one go. */
const atOnce = 100;

/** What goes with a rollout, and the index that finds it. */
const parts = [
  ["rollout_refusals", "by_rollout"],
  ["rollout_groups", "by_agents"],
] as const;

type Stored = StoredDocument<RolloutDocument>;

export class RolloutRetention {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Removes, now and every hour, what is older than `operationRetentionDays`. The function returned ends it. */
  keep(): () => Promise<void> {
    return keepRetention(this.#context, "rollouts", { round: () => this.round() });
  }

  /** Removes what is old; yields after each slice. */
  async *round(): AsyncGenerator<void> {
    const { before } = await retentionNow(this.#context);
    for await (const rollouts of eachOldPage<RolloutDocument>(this.#context, "rollouts", before)) {
      for (const rollout of rollouts) {
        if (await this.#isNeeded(rollout.value, before)) continue;
        for (const [collection, index] of parts) yield* this.#removeParts(rollout.key, { collection, index });
        await this.#remove(rollout, before);
      }
      yield;
    }
  }

  async #isNeeded({ rollout_id, status, finished_at }: RolloutDocument, before: number): Promise<boolean> {
    if (!hasEnded(status) || Date.parse(finished_at ?? "") >= before) return true;
    const query = { index: "by_rollout", equals: [rollout_id], limit: 1 };
    return (await this.#context.storage.list("operations", query)).items.length > 0;
  }

  async *#removeParts(
    rolloutId: string,
    { collection, index }: { collection: string; index: string },
  ): AsyncGenerator<void> {
    const { storage } = this.#context;
    const query = { index, equals: [rolloutId], limit: atOnce };
    for (;;) {
      const { items } = await storage.list(collection, query);
      if (items.length === 0) return;
      const writes = items.map(({ key }): Write => ({ kind: "delete", collection, key }));
      // With the reserve: this makes space.
      await storage.commit(writes, { reserve: true });
      yield;
    }
  }

  async #remove({ key, revision, value }: Stored, before: number): Promise<void> {
    const { contents } = this.#context;
    const event: EventInput = {
      type: "rollout.pruned",
      target: rolloutSubject(value),
      summary: `The record of a rollout of ${titleOf(value)} that ended before ${toTimestamp(before)} was removed`,
      metadata: { ...rolloutFacts(value), status: value.status, before: toTimestamp(before) },
    };
    try {
      await this.#context.commitWithReserve(
        systemCaller,
        [
          { kind: "delete", collection: "rollouts", key, expected: revision },
          contents.loosen(targetsKind, value.targets),
        ],
        event,
      );
    } catch (error) {
      // Something became of it: the next round looks again.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }
}
