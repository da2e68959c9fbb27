/**
 * Removes the oldest events of the audit log, in this order:
 *
 *   the anchor and the event that tells of it, in one commit ──▶ the removal
 *
 * What ended between the two, is finished by whoever comes next. One at a time in a process; of several processes on one storage, each
 * commits on the anchor that it read, and begins again where another was faster: what each tells of begins where the one before ended.
 */
import { repeatable, systemCaller, type Caller } from "../access/caller.ts";
import { auditLog, type Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { LogEntry, LogPage } from "../storage/storage.ts";
import { isOurs, readAnchor, signAnchor, toAnchorPut } from "./anchor.ts";

/** Removes what is old from the front of the audit log. */
export class AuditPruning {
  readonly #context: Context;
  #last: Promise<unknown> = Promise.resolve();

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Removes the events before an instant, in milliseconds since 1970, and what an earlier call left. Waits for the call before.
   *
   * @param beforeMs - `-Infinity` only finishes what an earlier call left.
   * @returns How many this call took out of the log.
   * @throws {OrchestratorError} `STORAGE_CORRUPT` where somebody else has written the anchor.
   */
  prune(beforeMs: number, caller: Caller = systemCaller): Promise<number> {
    const pruned = this.#last.then(() => this.#prune(beforeMs, caller));
    this.#last = pruned.catch(() => {});
    return pruned;
  }

  async #prune(beforeMs: number, caller: Caller): Promise<number> {
    const through = await retryOnConflict(() => this.#advance(beforeMs, caller));
    return through === 0 ? 0 : this.#context.storage.trimLog(auditLog, through + 1);
  }

  /** Moves the anchor, never back. Returns the sequence that it is at then; 0 where there is none. */
  async #advance(beforeMs: number, caller: Caller): Promise<number> {
    const before = await readAnchor(this.#context);
    // To build upon it would hide that somebody has written it.
    if (before && !isOurs(this.#context, before.value))
      throw new OrchestratorError("STORAGE_CORRUPT", {
        message: "The anchor of the audit log was not written by this orchestrator: nothing is removed.",
      });
    const at = before?.value.sequence ?? 0;
    const last = await this.#lastBefore(beforeMs, at + 1);
    if (!last) return at;
    const anchor = signAnchor(this.#context, last);
    // With the reserve: pruning makes space.
    await this.#context.commitWithReserve(repeatable(caller), [toAnchorPut(anchor, before)], {
      type: "audit.pruned",
      target: { type: "audit", id: "log", name: "audit log" },
      summary: `Audit events up to ${last.sequence} were removed`,
      metadata: {
        from_sequence: at + 1,
        through_sequence: last.sequence,
        through_hash: anchor.hash,
        signature: anchor.signature,
        before: new Date(beforeMs).toISOString(),
      },
    });
    return last.sequence;
  }

  /** The last of the events before an instant; null where the one at `first` is not. */
  async #lastBefore(beforeMs: number, first: number): Promise<LogEntry | null> {
    let last: LogEntry | null = null;
    let from: number | null = first;
    while (from !== null) {
      const page: LogPage = await this.#context.storage.readLog(auditLog, { from, limit: 1000 });
      for (const entry of page.entries) {
        if (entry.at >= beforeMs) return last;
        last = entry;
      }
      from = page.next;
    }
    return last;
  }
}
