/**
 * Removes the oldest events of the audit log, in this order:
 *
 *   the anchor and the event that tells of it, in one commit ──▶ the removal
 *
 * From the commit on it is told as done: a removal that fails goes on by itself. What ended between the two, is finished by whoever comes next. One at a time in a process; of several processes on one storage, each
 * commits on the anchor that it read, and begins again where another was faster: what each tells of begins where the one before ended.
 */
import { repeatable, systemCaller, type Caller } from "../callers/caller.ts";
import { auditLog, type Context } from "../context.ts";
import { isOrchestratorError, isRetryable, OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { LogPlace, StoredDocument } from "../storage/storage.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { OldestEntries } from "../upkeep/oldest-entries.ts";
import { isOurs, readAnchor, signAnchor, toAnchorPut, type Anchor } from "./anchor.ts";

/** What is to be removed. */
export interface PruneRequest {
  /** Milliseconds since 1970; `-Infinity` only finishes what an earlier call left. */
  beforeMs: number;
  /** How many events that must be; absent: as many as there are. */
  expected?: number | undefined;
}

/** The oldest events of the log, as far as a removal takes them. */
export interface OldestStretch {
  /** How many there are. */
  events: number;
  /** The last of them; where there are none, the last that was removed. */
  through: LogPlace;
  /** The one before the first: what their chain hangs on. */
  base: LogPlace;
  /** When the last of them was written, milliseconds since 1970; null where there are none. */
  newestMs: number | null;
}

/** Removes what is old from the front of the audit log. */
export class AuditPruning {
  readonly #context: Context;
  readonly #oldest: OldestEntries;
  readonly #work: BackgroundWork;
  #last: Promise<unknown> = Promise.resolve();
  #isWaiting = false;

  constructor(context: Context) {
    this.#context = context;
    this.#oldest = new OldestEntries(context, auditLog);
    this.#work = new BackgroundWork(context);
  }

  /**
   * Removes the events before an instant, and what an earlier call left. Waits for the call before.
   *
   * @returns How many this call took out of the log, or will yet.
   * @throws {OrchestratorError} `STORAGE_CORRUPT` where somebody else has written the anchor; `COUNT_DIFFERS`.
   */
  prune(request: PruneRequest, caller: Caller = systemCaller): Promise<number> {
    return this.#inTurn(async () => {
      const { through, events, isTold } = await retryOnConflict(() => this.#advance(request, caller));
      if (through === 0) return 0;
      const trim = (): Promise<number> => this.#context.storage.trimLog(auditLog, through + 1);
      if (!isTold) return trim();
      return trim().catch((error: unknown) => {
        if (!isOrchestratorError(error)) throw error;
        this.#context.logger.warn("Audit events could not be removed yet; it goes on.", { error });
        // What does not pass by itself is finished by the next round, or the next start.
        if (isRetryable(error)) this.#goOn();
        return events;
      });
    });
  }

  /** Removes what is before the anchor once that can be done: one try at a time, however many removals wait for it. */
  #goOn(): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#work.do(async () => {
      const { sequence = 0 } = (await readAnchor(this.#context))?.value ?? {};
      await this.#inTurn(() => this.#context.storage.trimLog(auditLog, sequence + 1)).catch(
        (error: unknown) => {
          this.#isWaiting = isRetryable(error);
          throw error;
        },
      );
      this.#isWaiting = false;
    });
  }

  /** Ends what goes on by itself; the next start finishes it. */
  stop(): Promise<void> {
    return this.#work.stop();
  }

  /**
   * What a removal would take now. Removes nothing.
   *
   * @throws {OrchestratorError} `STORAGE_CORRUPT` where somebody else has written the anchor.
   */
  look(beforeMs: number): Promise<OldestStretch> {
    return this.#inTurn(() => retryOnConflict(async () => (await this.#look(beforeMs)).stretch));
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => {});
    return result;
  }

  /** Moves the anchor, never back. Returns the sequence that it is at then, 0 where there is none, and how many events there are up to it. */
  async #advance(
    { beforeMs, expected }: PruneRequest,
    caller: Caller,
  ): Promise<{ through: number; events: number; isTold: boolean }> {
    const { before, stretch } = await this.#look(beforeMs);
    if (expected !== undefined && stretch.events !== expected) {
      throw new OrchestratorError("COUNT_DIFFERS", {
        message: `It would remove ${stretch.events} events, not ${expected}: nothing is removed.`,
        details: { expected, actual: stretch.events },
      });
    }
    const at = before?.value.sequence ?? 0;
    const { through, events } = stretch;
    if (through.sequence <= at) return { through: at, events, isTold: false };
    const anchor = signAnchor(this.#context, through);
    // With the reserve: pruning makes space.
    await this.#context.commitWithReserve(repeatable(caller), [toAnchorPut(anchor, before)], {
      type: "audit.pruned",
      target: { type: "audit", id: "log", name: "audit log" },
      summary: `Audit events up to ${through.sequence} were removed`,
      metadata: {
        from_sequence: at + 1,
        through_sequence: through.sequence,
        through_hash: anchor.hash,
        signature: anchor.signature,
        before: new Date(beforeMs).toISOString(),
      },
    });
    return { through: through.sequence, events, isTold: true };
  }

  /** The anchor, and what there is up to it and before the instant. */
  async #look(beforeMs: number): Promise<{ before: StoredDocument<Anchor> | null; stretch: OldestStretch }> {
    const before = await readAnchor(this.#context);
    // To build upon it would hide that somebody has written it.
    if (before && !isOurs(this.#context, before.value))
      throw new OrchestratorError("STORAGE_CORRUPT", {
        message: "The anchor of the audit log was not written by this orchestrator: nothing is removed.",
      });
    const at = before?.value.sequence ?? 0;
    const last = await this.#oldest.lastBefore(beforeMs, at + 1);
    const { entries, base } = await this.#context.storage.readLog(auditLog, {
      from: last,
      to: last,
      limit: 1,
    });
    const [entry] = entries;
    // What an earlier call left is there up to the anchor; all of it may be gone.
    if (entry === undefined && last > base.sequence) throw new OrchestratorError("REVISION_CONFLICT");
    const through = entry ? { sequence: entry.sequence, hash: entry.hash } : base;
    const newestMs = entry?.at ?? null;
    return { before, stretch: { events: through.sequence - base.sequence, through, base, newestMs } };
  }
}
