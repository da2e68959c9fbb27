/** Operations as they are kept: every change of one goes through here. */
import type { Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { OperationFacts } from "../event-facts.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { OperationDocument } from "./documents.ts";
import type { OperationStatus } from "./schemas.ts";

/** Statuses of an operation that may still do something. */
const openStatuses = ["running", "queued"] as const satisfies OperationStatus[];

export function isOpen(operation: Readonly<OperationDocument>): boolean {
  return openStatuses.some((status) => status === operation.status);
}

/** The operation as events name it. */
export function operationSubject({
  operation_id,
  kind,
  agent_name,
}: Readonly<OperationDocument>): EventInput["target"] {
  return { type: "operation", id: operation_id, name: `${kind} on ${agent_name}` };
}

/** What every event of the operation says. */
export function factsOf({
  node_id,
  rollout_id,
}: Readonly<OperationDocument>): Pick<OperationFacts, "node_id" | "rollout_id"> {
  return { node_id, ...(rollout_id !== undefined && { rollout_id }) };
}

/** What a change of an operation writes beside it. */
export interface OperationChange {
  writes?: readonly Write[];
  events?: readonly EventInput[];
}

/**
 * Hears of operations that were made (`before` is null) or changed, whoever did it, in the order of the commits. What becomes of the
 * record of one that has ended is no news. Must not throw.
 */
export type OperationWatcher = (after: Readonly<OperationDocument>, before: OperationStatus | null) => void;

/** An operation of which more is to come, and since when this process knows of it, by the clock that never goes back. */
type Unsettled = Pick<OperationDocument, "node_id" | "status"> & { knownAtMs: number };

export class OperationStore {
  readonly #context: Context;
  readonly #watchers: OperationWatcher[] = [];
  /** Those of which more is to come: open ones, and those of which nobody knows how they ended. */
  readonly #unsettled = new Map<string, Unsettled>();
  readonly #goneWatchers: ((nodeId: string, operationId: string) => void)[] = [];
  /** Those that this process made and that wait. */
  readonly #made = new Set<string>();
  /** Later than every place in a line that was found at the start. */
  #leastPlace = 0;

  constructor(context: Context) {
    this.#context = context;
    context.feed.follow<OperationDocument>("operations", ({ key, document }) => {
      if (document) this.#follow(document.value);
      else this.#remove(key);
    });
  }

  /** Reads which operations more is to come of. Called before anything moves. */
  async load(): Promise<void> {
    for (const status of [...openStatuses, "unknown"] as const)
      for await (const { operation_id, node_id } of this.#ofStatus(status))
        this.#unsettled.set(operation_id, { node_id, status, knownAtMs: this.#context.clock.monotonic() });
  }

  async find(operationId: string): Promise<Readonly<OperationDocument> | null> {
    return (await this.#context.storage.get<OperationDocument>("operations", operationId))?.value ?? null;
  }

  /** Reads an operation; `NOT_FOUND` where there is none. */
  async read(operationId: string): Promise<Readonly<OperationDocument>> {
    const operation = await this.find(operationId);
    if (!operation)
      throw new OrchestratorError("NOT_FOUND", { message: `There is no operation ${operationId}.` });
    return operation;
  }

  /** Tells a watcher of every operation that is made or changed from now on. */
  watch(watcher: OperationWatcher): void {
    this.#watchers.push(watcher);
  }

  /** Tells a watcher of every operation that is removed from now on although more was to come of it. Must not throw. */
  watchGone(watcher: (nodeId: string, operationId: string) => void): void {
    this.#goneWatchers.push(watcher);
  }

  /** How many operations of each status more is to come of. */
  unsettledCounts(): Record<string, number> {
    const counts: Record<string, number> = { queued: 0, running: 0, unknown: 0 };
    for (const { status } of this.#unsettled.values()) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  /** The agent of each operation of a status of which more is to come. */
  *unsettledAgents(status: OperationStatus): Generator<string, void> {
    for (const operation of this.#unsettled.values())
      if (operation.status === status) yield operation.node_id;
  }

  /** For how many milliseconds this process has known of an operation that another one made; null where it made it itself. */
  knownOfOtherMs(operationId: string): number | null {
    const known = this.#made.has(operationId) ? undefined : this.#unsettled.get(operationId);
    return known ? this.#context.clock.monotonic() - known.knownAtMs : null;
  }

  /** Whether an agent runs something, whichever process gave it to it. */
  isRunning(nodeId: string): boolean {
    for (const each of this.unsettledAgents("running")) if (each === nodeId) return true;
    return false;
  }

  /** Writes new operations in one step. */
  async create(
    caller: Caller,
    operations: readonly OperationDocument[],
    { writes = [], events = [] }: OperationChange,
  ): Promise<void> {
    const puts = operations.map((operation) => toPut(operation, 0));
    for (const { operation_id } of operations) this.#made.add(operation_id);
    try {
      await this.#context.commit(caller, [...puts, ...writes], ...events);
    } catch (error) {
      for (const { operation_id } of operations) this.#made.delete(operation_id);
      throw error;
    }
  }

  /**
   * Changes an operation from what is stored now, again where somebody else changed it at the same time.
   *
   * @param change - Given the operation, returns it changed with what else to write; null to leave it.
   * @returns The operation as it is then, and whether it was changed.
   */
  async update(
    caller: Caller,
    operationId: string,
    change: (operation: Readonly<OperationDocument>) => Changed | null | Promise<Changed | null>,
  ): Promise<{ operation: Readonly<OperationDocument>; changed: boolean }> {
    return retryOnConflict(async () => {
      const stored = await this.#context.storage.get<OperationDocument>("operations", operationId);
      if (!stored)
        throw new OrchestratorError("NOT_FOUND", { message: `There is no operation ${operationId}.` });
      const changed = await change(stored.value);
      if (!changed) return { operation: stored.value, changed: false };
      const { operation, writes = [], events = [] } = changed;
      await this.#context.commit(caller, [toPut(operation, stored.revision), ...writes], ...events);
      return { operation, changed: true };
    });
  }

  #follow(after: Readonly<OperationDocument>): void {
    const { operation_id, node_id, status } = after;
    const known = this.#unsettled.get(operation_id);
    const before = known?.status ?? null;
    const knownAtMs = known?.knownAtMs ?? this.#context.clock.monotonic();
    if (status !== "queued") this.#made.delete(operation_id);
    const isUnsettled = isOpen(after) || status === "unknown";
    if (isUnsettled) this.#unsettled.set(operation_id, { node_id, status, knownAtMs });
    else if (!this.#unsettled.delete(operation_id)) return;
    for (const watcher of this.#watchers) watcher(after, before);
  }

  #remove(operationId: string): void {
    this.#made.delete(operationId);
    const gone = this.#unsettled.get(operationId);
    if (!this.#unsettled.delete(operationId) || !gone) return;
    for (const watcher of this.#goneWatchers) watcher(gone.node_id, operationId);
  }

  /** Every operation of a rollout. */
  async *ofRollout(rolloutId: string): AsyncGenerator<Readonly<OperationDocument>> {
    const query = { index: "by_rollout", equals: [rolloutId] };
    for await (const { value } of eachDocument<OperationDocument>(this.#context.storage, "operations", query))
      yield value;
  }

  /** The operations of a rollout on some agents, by node_id. */
  async ofRolloutOn(
    rolloutId: string,
    nodeIds: readonly string[],
  ): Promise<Map<string, Readonly<OperationDocument>>> {
    const { storage } = this.#context;
    const pages = await Promise.all(
      nodeIds.map((nodeId) => {
        const query = { index: "by_rollout_node", equals: [rolloutId, nodeId], limit: 1 };
        return storage.list<OperationDocument>("operations", query);
      }),
    );
    return new Map(pages.flatMap(({ items }) => items.map(({ value }) => [value.node_id, value] as const)));
  }

  /** Every operation that may still do something: first what runs, then what waits, that in the order in which it was made. */
  async *open(): AsyncGenerator<Readonly<OperationDocument>> {
    yield* this.#ofStatus("running");
    const waiting: Readonly<OperationDocument>[] = [];
    for await (const operation of this.#ofStatus("queued")) waiting.push(operation);
    // Not by their ids: those go by a wall clock, which may have been set back between two starts.
    waiting.sort((a, b) => placeOf(a) - placeOf(b));
    this.#leastPlace = Math.max(this.#leastPlace, placeOf(waiting.at(-1)) + 1);
    yield* waiting;
  }

  /** The place of a new operation, behind all that wait: fleet time may repeat a minute after a kill. */
  nextPlace(): number {
    return Math.max(this.#context.fleetTime.now(), this.#leastPlace);
  }

  /** Every operation of which nothing was heard. */
  unknown(): AsyncGenerator<Readonly<OperationDocument>> {
    return this.#ofStatus("unknown");
  }

  async *#ofStatus(status: OperationStatus): AsyncGenerator<Readonly<OperationDocument>> {
    const { storage } = this.#context;
    const query = { index: "by_status", equals: [status] };
    for await (const { value } of eachDocument<OperationDocument>(storage, "operations", query)) yield value;
  }
}

/** An operation after a change, with what else is written in the same step. */
export type Changed = OperationChange & { operation: OperationDocument };

function toPut(operation: OperationDocument, expected: number): Write {
  const value = toJsonObject(operation);
  return { kind: "put", collection: "operations", key: operation.operation_id, value, expected };
}

function placeOf(operation: Readonly<OperationDocument> | undefined): number {
  return operation ? (operation.queued_at ?? Date.parse(operation.created_at)) : 0;
}
