import type { z } from "zod";
import { answering, type Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { AuditService } from "./audit-service.ts";
import { signHead } from "./head.ts";
import { listEvents } from "./listing.ts";
import type { OldestStretch } from "./pruning.ts";
import {
  listAuditInput,
  pruneAuditInput,
  setRetentionInput,
  verifyAuditInput,
  type AuditEvent,
  type AuditHead,
  type AuditRetention,
  type AuditVerification,
  type PruneResult,
} from "./schemas.ts";
import { toKnownHead } from "./verification.ts";

/** What was done, by whom and when: events in a chain of hashes, written in the same commit as what they tell. */
export class Audit {
  readonly #context: Context;
  readonly #service: AuditService;

  constructor(context: Context, service: AuditService) {
    this.#context = context;
    this.#service = service;
  }

  /**
   * Lists events, newest first or oldest first. Types, categories, actors, targets and times are found by an index, which the newest thousand
   * may lack. A call looks at 10,000 events at most: where `search` passes few of them the page may hold less than `limit`, even nothing, and
   * still have a `next_cursor` to go on with. Only without one is the list at its end.
   */
  async list(caller: Caller, input: z.input<typeof listAuditInput> = {}): Promise<Page<AuditEvent>> {
    await this.#context.authorize(caller, "audit.list");
    return listEvents(this.#context, parseInput(listAuditInput, input));
  }

  /**
   * Removes the events before an instant. Only the oldest go, so what stays still verifies; the removal is an event itself.
   *
   * Of several at once, each goes on where the one before ended. The first call reads what it removes, at some 50,000 events a second.
   *
   * @param input - With `dry_run` nothing is removed and `would_delete` tells what would be.
   * @returns How many this call took out of the log, those included that an earlier call left when the process ended in it.
   * @throws {OrchestratorError} `VALIDATION_FAILED` for an instant in the future, by a clock that does not follow jumps, or
   * within the least age (`auditMinimumAgeDays`); `COUNT_DIFFERS`, with `details.actual`, where other than `expected` would go; `STORAGE_CORRUPT` where
   * somebody else has written where the log begins: see {@link Audit.verify}.
   */
  async prune(caller: Caller, input: z.input<typeof pruneAuditInput>): Promise<PruneResult> {
    await this.#context.authorize(caller, "audit.prune");
    const { before, expected, dry_run = false } = parseInput(pruneAuditInput, input);
    const beforeMs = Date.parse(before);
    await this.#service.age.requireOld(beforeMs);
    if (!dry_run) return { deleted: await this.#service.pruning.prune({ beforeMs, expected }, caller) };
    return { deleted: 0, would_delete: toWouldDelete(await this.#service.pruning.look(beforeMs)) };
  }

  /** Reads for how long events are kept. */
  async getRetention(caller: Caller): Promise<AuditRetention> {
    await this.#context.authorize(caller, "audit.getRetention");
    return this.#service.retention();
  }

  /**
   * Sets for how long events are kept, in days; null keeps them for ever.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` for less than the least age (`auditMinimumAgeDays`); `PRECONDITION_FAILED`.
   */
  async setRetention(
    caller: Caller,
    input: z.input<typeof setRetentionInput>,
    options?: ChangeOptions,
  ): Promise<AuditRetention> {
    await this.#context.authorize(caller, "audit.setRetention");
    const { retention_days } = parseInput(setRetentionInput, input);
    this.#service.age.requireRetention(retention_days);
    return retryOnConflict(async () => {
      const before = await this.#service.retention();
      requireVersion({ revision: before.version }, options);
      const changed = { retention_days, version: before.version + 1 };
      const put = { kind: "put", collection: "settings", key: "audit_retention" } as const;
      await this.#context.commit(
        answering(caller, changed),
        [{ ...put, value: { retention_days }, expected: before.version }],
        {
          type: "audit.retentionChanged",
          target: { type: "audit", id: "retention", name: "audit retention" },
          summary: `Audit events are now kept for ${retention_days === null ? "ever" : `${retention_days} days`}`,
          metadata: { before: before.retention_days, after: retention_days },
        },
      );
      return changed;
    });
  }

  /**
   * Recomputes the whole chain and names the first event that does not fit. Costs a read of every event.
   *
   * @param input - A head that was kept elsewhere, both fields of it: `known_head` says whether it is in this log.
   * @throws {OrchestratorError} `VALIDATION_FAILED` where one of the fields is missing.
   */
  async verify(caller: Caller, input: z.input<typeof verifyAuditInput> = {}): Promise<AuditVerification> {
    await this.#context.authorize(caller, "audit.verify");
    return this.#service.verify(toKnownHead(parseInput(verifyAuditInput, input)));
  }

  /** Signs where the log ends now: keep it elsewhere, and {@link Audit.verify} tells later whether this is still the same log. */
  async head(caller: Caller): Promise<AuditHead> {
    await this.#context.authorize(caller, "audit.head");
    return signHead(this.#context);
  }
}

function toWouldDelete({
  events,
  through,
  base,
  newestMs,
}: OldestStretch): NonNullable<PruneResult["would_delete"]> {
  return {
    events,
    from_sequence: base.sequence + 1,
    through_sequence: through.sequence,
    through_recorded_at: newestMs === null ? null : toTimestamp(newestMs),
    through_hash: through.hash!,
    previous_hash: base.hash!,
  };
}
