/**
 * Removes operations that are old, or more than are to be kept, in slices, and what only they needed. What is still needed stays, however old: what may
 * still do something, an operation of a rollout that has not ended, the newest applies of each agent, its newest plan
 * where nothing was applied since, and what the feature says that an operation is a part of.
 *
 * Results lie in a log that is trimmed from the front. Those of old operations that stay are written anew at its end, so
 * that they hold up nothing.
 */
import type { AgentService } from "../agents/agent-service.ts";
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, type OrchestratorError } from "../errors.ts";
import type { EventMetadata } from "../event-metadata.ts";
import { dayMs } from "../internal/durations.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { eachPage } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { eachOldPage, keepRetention, retentionNow } from "../upkeep/retention.ts";
import { readAgentState } from "./agent-states.ts";
import { resultsLog, type OperationDocument } from "./documents.ts";
import { loadReport, saveReport } from "./operation-results.ts";
import { isOpen } from "./operation-store.ts";

/** What a feature says of old operations of its kind. */
export interface Expiry {
  /** Whether one is still needed. */
  isNeeded: (operation: Readonly<OperationDocument>) => Promise<boolean>;
  /** What goes with one. */
  writes: (operation: Readonly<OperationDocument>) => readonly Write[];
}

type Stored = StoredDocument<OperationDocument>;

/** Log entries that are trimmed in one go. */
const entriesAtOnce = 2_000;

/** How often the operations are counted, milliseconds: so long more are kept than are to be. */
const countEveryMs = 60_000;
/** Operations beyond those that are kept, removed in one go. */
const surplusAtOnce = 100;

/** Which operations go. */
interface Limit {
  /** Those that ended before, milliseconds since 1970. */
  before: number;
  /** No more than this. Default: all. */
  most?: number;
  summary: string;
  metadata: Omit<EventMetadata["operation.pruned"], "removed">;
}

export class OperationRetention {
  readonly #context: Context;
  readonly #agents: AgentService;
  #isRolloutOpen: (rolloutId: string) => Promise<boolean> = () => Promise.resolve(false);
  readonly #expiries = new Map<OperationDocument["kind"], Expiry>();
  /** All up to here was needed when it was looked at, since the last hourly round: it is not looked at every minute. */
  #neededUpTo: string | null = null;
  /** The newest log entry when the round before began. */
  #headBefore = 0;

  constructor(context: Context, agents: AgentService) {
    this.#context = context;
    this.#agents = agents;
  }

  /** Has a feature say what of the operations of its kind is needed. */
  onExpiry(kind: OperationDocument["kind"], expiry: Expiry): void {
    this.#expiries.set(kind, expiry);
  }

  /** Has a feature tell whether a rollout has not ended. */
  onRollout(isRolloutOpen: (rolloutId: string) => Promise<boolean>): void {
    this.#isRolloutOpen = isRolloutOpen;
  }

  /**
   * Removes, now and every hour, what is older than `operationRetentionDays`, and every minute the oldest of what is more than
   * `operationRetentionCount`. The function returned ends it.
   */
  keep(): () => Promise<void> {
    const ends = [
      keepRetention(this.#context, "operations", { round: () => this.round() }),
      keepRetention(this.#context, "operations", { round: () => this.surplusRound(), everyMs: countEveryMs }),
    ];
    return async () => void (await Promise.all(ends.map((end) => end())));
  }

  /** Removes what is old; yields after each slice. */
  async *round(): AsyncGenerator<void> {
    this.#neededUpTo = null;
    const { now, before } = await retentionNow(this.#context);
    const { head } = await this.#context.storage.readLog(resultsLog, { reverse: true, limit: 1 });
    const at = toTimestamp(before);
    const limit = { before, summary: `before ${at}`, metadata: { before: at } };
    const stale: string[] = [];
    for await (const old of eachOldPage<OperationDocument>(this.#context, "operations", before)) {
      const keys = old.map(({ key }) => key);
      const { kept } = await retryOnConflict(() => this.#remove(keys, limit));
      stale.push(...staleOf(kept, before));
      yield;
    }
    const full = yield* this.#renewAll(stale, { before, now });
    yield* this.#trim(this.#headBefore);
    this.#headBefore = head.sequence;
    yield* this.#context.contents.sweep();
    if (full) throw full;
  }

  /** Removes the oldest of what is more than is to be kept; yields after each slice. */
  async *surplusRound(): AsyncGenerator<void> {
    const { storage, options } = this.#context;
    const keep = options.operationRetentionCount;
    let surplus = (await storage.count("operations")) - keep;
    if (surplus <= 0) return;
    const { now } = await retentionNow(this.#context);
    // Once a day at most: what stays for long must not be written again with every round.
    const renewal = { before: now - dayMs, now };
    const stale: string[] = [];
    let neededUpTo = this.#neededUpTo;
    const query = { limit: surplusAtOnce, ...(this.#neededUpTo !== null && { from: this.#neededUpTo }) };
    for await (const old of eachPage<OperationDocument>(storage, "operations", query)) {
      const keys = old.map(({ key }) => key);
      const limit = {
        before: Infinity,
        most: surplus,
        summary: `beyond the ${keep} that are kept`,
        metadata: { keep },
      };
      const { kept, removed } = await retryOnConflict(() => this.#remove(keys, limit));
      surplus -= removed;
      if (surplus <= 0) break;
      stale.push(...staleOf(kept, renewal.before));
      neededUpTo = keys.at(-1) ?? neededUpTo;
      yield;
    }
    const full = yield* this.#renewAll(stale, renewal);
    if (full) throw full;
    this.#neededUpTo = neededUpTo;
  }

  /**
   * Writes the results of old operations that stay anew, after all that makes space. Returns what it failed with on a full disk: then the
   * others wait for the next round.
   */
  async *#renewAll(
    keys: readonly string[],
    times: { before: number; now: number },
  ): AsyncGenerator<void, OrchestratorError | null> {
    for (const [at, key] of keys.entries()) {
      const stored = await this.#context.storage.get<OperationDocument>("operations", key);
      try {
        if (stored) await this.#renew(stored, times);
      } catch (error) {
        if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
        return error;
      }
      if (at % surplusAtOnce === surplusAtOnce - 1) yield;
    }
    return null;
  }

  /** Removes those of some operations that are to go and not needed. Returns the ones that stay although they were to go. */
  async #remove(keys: readonly string[], limit: Limit): Promise<{ kept: Stored[]; removed: number }> {
    const { before, most = Infinity, summary, metadata } = limit;
    const { storage, contents } = this.#context;
    const kept: Stored[] = [];
    let count = 0;
    const writes: Write[] = [];
    const snapshots = new Set<string>();
    for (const key of keys) {
      if (count >= most) break;
      const stored = await storage.get<OperationDocument>("operations", key);
      if (stored === null || endOf(stored.value) >= before) continue;
      if (await this.#isNeeded(stored.value)) {
        kept.push(stored);
        continue;
      }
      count += 1;
      snapshots.add(stored.value.snapshot);
      writes.push({ kind: "delete", collection: "operations", key, expected: stored.revision });
      writes.push(...(this.#expiries.get(stored.value.kind)?.writes(stored.value) ?? []));
    }
    if (count === 0) return { kept, removed: 0 };
    for (const snapshot of snapshots) writes.push(contents.loosen("snapshot", snapshot));
    const removed = writes.filter(({ kind }) => kind === "delete").length;
    // With the reserve: this makes space.
    await this.#context.commitWithReserve(systemCaller, writes, {
      type: "operation.pruned",
      summary: `${removed === 1 ? "1 record" : `${removed} records`} of operations ${summary} ${removed === 1 ? "was" : "were"} removed`,
      metadata: { removed, ...metadata },
    });
    return { kept, removed: count };
  }

  async #isNeeded(operation: Readonly<OperationDocument>): Promise<boolean> {
    if (isOpen(operation) || (await this.#isOfOpenRollout(operation))) return true;
    const { operation_id, node_id, kind } = operation;
    const { storage } = this.#context;
    const state = (await readAgentState(storage, node_id))?.value;
    if (state?.last_apply?.operation_id === operation_id) return true;
    if (state?.baseline?.operation_id === operation_id) return true;
    if (Object.values(state?.modules ?? {}).some((module) => module.operation_id === operation_id))
      return true;
    if (kind === "plan" && (await this.#mayBeApplied(operation))) return true;
    return (await this.#expiries.get(kind)?.isNeeded(operation)) ?? false;
  }

  async #isOfOpenRollout({ rollout_id }: Readonly<OperationDocument>): Promise<boolean> {
    if (rollout_id === undefined) return false;
    // One that is paused, or waits for its next batch, has nothing that runs.
    if (await this.#isRolloutOpen(rollout_id)) return true;
    for (const status of ["running", "queued"]) {
      const query = { index: "by_rollout_status", equals: [rollout_id, status], limit: 1 };
      if ((await this.#context.storage.list("operations", query)).items.length > 0) return true;
    }
    return false;
  }

  /** The newest plan of an agent that is there counts until something is applied. */
  async #mayBeApplied({ operation_id, node_id, status }: Readonly<OperationDocument>): Promise<boolean> {
    if (status !== "succeeded" || !(await this.#agents.isKnown(node_id))) return false;
    const newest = async (kind: string): Promise<string> => {
      const query = { index: "by_node_kind", equals: [node_id, kind], order: "desc", limit: 1 } as const;
      return (await this.#context.storage.list("operations", query)).items[0]?.key ?? "";
    };
    return (await newest("plan")) === operation_id && (await newest("apply")) < operation_id;
  }

  /** Writes the results of an old operation that stays anew. */
  async #renew({ value, revision }: Stored, { before, now }: { before: number; now: number }): Promise<void> {
    const { storage } = this.#context;
    if (!isStale(value, before)) return;
    const { results: _, ...rest } = value;
    const place = await saveReport(this.#context, value.operation_id, await loadReport(this.#context, value));
    const renewed = { ...rest, ...(place && { results: { ...place, renewed_at: now } }) };
    const document = toJsonObject(renewed);
    const write = {
      kind: "put",
      collection: "operations",
      key: value.operation_id,
      value: document,
    } as const;
    try {
      await storage.commit([{ ...write, expected: revision }]);
    } catch (error) {
      // Something became of it: the next round looks again.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }

  /**
   * Trims the log of results up to the first that an operation refers to, but none that is younger than the round before:
   * results are written before the operation that names them.
   */
  async *#trim(upTo: number): AsyncGenerator<void> {
    const { storage } = this.#context;
    const query = { index: "by_results", from: 0, limit: 1 };
    const [first] = (await storage.list<OperationDocument>("operations", query)).items;
    const end = Math.min(upTo, (first?.value.results?.from ?? Infinity) - 1);
    const { base } = await storage.readLog(resultsLog, { limit: 1 });
    for (let at = base.sequence; at < end;) {
      at = Math.min(end, at + entriesAtOnce);
      await storage.trimLog(resultsLog, at + 1);
      yield;
    }
  }
}

/** When an operation ended, or was made. */
function endOf({ finished_at, created_at }: Readonly<OperationDocument>): number {
  return Date.parse(finished_at ?? created_at);
}

/** The keys of those whose results were written before an instant. */
function staleOf(operations: readonly Stored[], before: number): string[] {
  return operations.flatMap(({ key, value }) => (isStale(value, before) ? key : []));
}

function isStale(operation: Readonly<OperationDocument>, before: number): boolean {
  const { results } = operation;
  return results !== undefined && (results.renewed_at ?? endOf(operation)) < before;
}
