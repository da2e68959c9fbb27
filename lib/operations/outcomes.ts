/** How operations end: written once, with what follows from it, and told to whoever waits. */
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { KeyedQueue } from "../internal/keyed-queue.ts";
import { countOutcomes, type ResourceResult, toCounts } from "../state/result.ts";
import type { OperationOutput, PeerError } from "../wire/messages.ts";
import type { OperationDocument } from "./documents.ts";
import { isListed, shownKind } from "./operation-kinds.ts";
import { saveReport } from "./operation-results.ts";
import {
  factsOf,
  isOpen,
  operationSubject,
  type Changed,
  type OperationChange,
  type OperationStore,
} from "./operation-store.ts";
import type { ProgressFeeds } from "./progress-feeds.ts";
import { digestOfEnd } from "./said-results.ts";
import type { OperationStatus } from "./schemas.ts";

/** How an operation ended, as an agent tells it or as it was concluded here. */
export interface Outcome {
  status: Exclude<OperationStatus, "queued" | "running">;
  results?: readonly ResourceResult[];
  output?: readonly OperationOutput[];
  duration_ms?: number;
  error?: PeerError | undefined;
  /** Counts only where the operation still waits; absent = also where it runs. */
  onlyQueued?: boolean;
}

/** An operation after an outcome came for it, and whether the outcome counted. */
export interface Recorded {
  operation: Readonly<OperationDocument>;
  changed: boolean;
}

/** What a feature is told of an operation of its kind that ends. */
export interface Ended {
  operation: Readonly<OperationDocument>;
  results: readonly ResourceResult[];
  /** Whether it had ended before, and it is known only now how: something else may have happened since. */
  isCorrection: boolean;
}

/** Adds what another feature writes when an operation of its kind ends. */
export type Completion = (ended: Ended) => Promise<OperationChange>;

/** Adds what is written when it is known at last how an operation of a rollout ended. */
export type RolloutCorrection = (
  before: Readonly<OperationDocument>,
  after: Readonly<OperationDocument>,
) => Promise<OperationChange>;

/** Who waits for the end of an operation, and hears of it until then. */
interface Waiter {
  hear: (operation: Readonly<OperationDocument>) => void;
  wake: () => void;
}

export class OutcomeRecorder {
  readonly #context: Context;
  readonly #store: OperationStore;
  readonly #feeds: ProgressFeeds;
  readonly #completions = new Map<OperationDocument["kind"], Completion>();
  #correction: RolloutCorrection = () => Promise.resolve({});
  readonly #waiters = new Map<string, Set<Waiter>>();
  /** Operations of one agent end one after another: each changes what is known of it, and of many at once each would be tried again for the others. */
  readonly #turns = new KeyedQueue();

  constructor(context: Context, { store, feeds }: { store: OperationStore; feeds: ProgressFeeds }) {
    this.#context = context;
    this.#store = store;
    this.#feeds = feeds;
    store.watch((operation) => this.#follow(operation));
    context.leaving.signal.addEventListener("abort", () => this.release());
  }

  /** Has a feature add to the end of the operations of its kind. */
  onEnd(kind: OperationDocument["kind"], completion: Completion): void {
    this.#completions.set(kind, completion);
  }

  /** Has a feature add to the end of what belongs to a rollout and was `unknown`. */
  onCorrection(correction: RolloutCorrection): void {
    this.#correction = correction;
  }

  /** Writes how an operation ended. An operation that has ended is left as it is, unless it was `unknown` and is known now. */
  async record(operationId: string, outcome: Outcome): Promise<Recorded> {
    const known = await this.#store.read(operationId);
    if (!stillCounts(known, outcome)) return { operation: known, changed: false };
    const results = outcome.results ?? [];
    const report = await saveReport(this.#context, operationId, { results, output: outcome.output ?? [] });
    const { kind, rollout_id, node_id } = known;
    const changes =
      rollout_id === undefined || kind === "run"
        ? undefined
        : await digestOfEnd(this.#context, { kind, status: outcome.status, ...errorOf(outcome) }, results);
    const end = async (before: Readonly<OperationDocument>): Promise<Changed | null> => {
      if (!stillCounts(before, outcome)) return null;
      const ended = {
        ...this.#ended(before, outcome),
        ...(report && { results: report }),
        ...(changes !== undefined && { changes }),
      };
      const isCorrection = before.status === "unknown";
      const complete = this.#completions.get(ended.kind);
      const added = (await complete?.({ operation: ended, results, isCorrection })) ?? {};
      const isRolloutCorrected = isCorrection && rollout_id !== undefined;
      const corrected = isRolloutCorrected ? await this.#correction(before, ended) : {};
      return {
        operation: ended,
        writes: [...(added.writes ?? []), ...(corrected.writes ?? [])],
        events: [...(isListed(ended) ? [finishedEvent(ended)] : []), ...(added.events ?? [])],
      };
    };
    const write = (): Promise<Recorded> =>
      this.#turns.do(node_id, () => this.#store.update(systemCaller, operationId, end));
    // Those that correct one rollout all change its counts.
    if (known.status !== "unknown" || rollout_id === undefined) return write();
    return this.#turns.do(rollout_id, write);
  }

  #follow(operation: Readonly<OperationDocument>): void {
    const { operation_id } = operation;
    for (const { hear } of this.#waiters.get(operation_id) ?? []) hear(operation);
    if (!isOpen(operation)) this.#feeds.end(operation_id);
  }

  /**
   * Waits until an operation has ended, or for a time, and resolves with the newest that was heard of it. Never rejects: it is on disk
   * as it is known here, and whoever made it must not be told that it failed because it can't be read again.
   */
  async wait(known: Readonly<OperationDocument>, waitMs: number): Promise<Readonly<OperationDocument>> {
    const { operation_id: operationId } = known;
    const read = (): Promise<Readonly<OperationDocument> | null> =>
      this.#context.readBack(() => this.#store.find(operationId), known);
    if (waitMs === 0) return (await read()) ?? known;
    const waiters = this.#waiters.get(operationId) ?? new Set();
    this.#waiters.set(operationId, waiters);
    let newest = known;
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => (wake = resolve));
    const hear = (operation: Readonly<OperationDocument>): void => {
      newest = operation;
      if (!isOpen(operation)) wake();
    };
    // The waiter is there before the operation is read: an end in between is not missed.
    const waiter = { hear, wake };
    waiters.add(waiter);
    const timer = this.#context.clock.setTimer(waitMs, wake);
    try {
      const found = await read();
      if (found && newest === known) newest = found;
      if (isOpen(newest) && !this.#context.leaving.signal.aborted) await woken;
      return newest;
    } finally {
      timer.cancel();
      waiters.delete(waiter);
      if (waiters.size === 0) this.#waiters.delete(operationId);
    }
  }

  /** Lets everybody go who waits: the process ends. */
  release(): void {
    for (const waiters of this.#waiters.values()) for (const { wake } of waiters) wake();
  }

  #ended(before: Readonly<OperationDocument>, outcome: Outcome): OperationDocument {
    const now = this.#context.clock.now();
    const fleetNow = this.#context.fleetTime.now();
    const { started_at, begun_at = started_at === undefined ? fleetNow : Date.parse(started_at) } = before;
    // Of one that was `unknown`, it is known now.
    const { error: _, ...rest } = before;
    return {
      ...rest,
      status: outcome.status,
      counts: countOutcomes(outcome.results ?? []),
      finished_at: toTimestamp(now),
      duration_ms: outcome.duration_ms ?? Math.max(0, fleetNow - begun_at),
      ...errorOf(outcome),
      ...(before.kind === "run" && endOfRun(this.#context, outcome)),
    };
  }
}

function errorOf({ error }: Outcome): Pick<OperationDocument, "error"> {
  return error ? { error: { code: error.code, message: error.message } } : {};
}

/** What the ends of runs are told apart by, so that those of a fleet are compared without reading what each printed. */
function endOfRun(
  { crypto }: Context,
  { results = [], output = [] }: Outcome,
): Pick<OperationDocument, "exit_code" | "output_hash"> {
  const exitCode = results[0]?.exit_code;
  const printed = output
    .map(({ stream, text, truncated }) => [stream, text, truncated] as const)
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...(exitCode !== undefined && { exit_code: exitCode }),
    output_hash: toHex(crypto.sha256(toUtf8(JSON.stringify(printed)))),
  };
}

/** Whether an outcome still says something about an operation. */
function stillCounts({ status }: Readonly<OperationDocument>, outcome: Outcome): boolean {
  if (outcome.onlyQueued === true) return status === "queued";
  // That nobody knows is said once, however many come to that conclusion in one moment.
  const isOpenEnd = status === "unknown" && outcome.status !== "unknown";
  return status === "queued" || status === "running" || isOpenEnd;
}

const nouns = { apply: "Apply", plan: "Plan", forget: "Forgetting", run: "Run" } as const;

function finishedEvent(operation: Readonly<OperationDocument>): EventInput {
  const { kind, agent_name, status, operation_id, counts } = operation;
  const good = status === "succeeded" || status === "cancelled";
  return {
    type: good ? "operation.finished" : "operation.failed",
    target: operationSubject(operation)!,
    summary: `${nouns[shownKind({ kind })]} on ${agent_name} ended: ${status}`,
    metadata: { ...factsOf(operation), operation_id, status, counts: toCounts(counts) },
  };
}
