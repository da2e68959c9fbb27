import type { z } from "zod";
import { answering, type Caller } from "../access/caller.ts";
import type { Context } from "../context.ts";
import { auditLog } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { requireVersion, withVersion, type ChangeOptions } from "../document-version.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { eventTable, type OrchestratorEvent } from "../events.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../internal/json.ts";
import { parseInput } from "../internal/parse-input.ts";
import { keepRounds } from "../rounds.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { LogEntry, LogPage, StoredDocument } from "../storage/storage.ts";
import { isOurs, readAnchor, type Anchor } from "./anchor.ts";
import { AuditPruning } from "./pruning.ts";
import {
  listAuditInput,
  pruneAuditInput,
  setRetentionInput,
  type AuditEvent,
  type AuditRetention,
  type AuditVerification,
} from "./schemas.ts";

const defaultRetentionDays = 90;
const dayMs = 86_400_000;
const pruneEveryMs = 3_600_000;
/** Events that one call looks at: a filter that passes nothing must not have it read the whole log. */
const mostRead = 10_000;
const noHash = "0".repeat(64);

/** What was done, by whom and when: events in a chain of hashes, written in the same commit as what they tell. */
export class Audit {
  readonly #context: Context;
  readonly #pruning: AuditPruning;

  constructor(context: Context) {
    this.#context = context;
    this.#pruning = new AuditPruning(context);
  }

  /**
   * Lists events, newest first. A call looks at 10,000 events at most: where a filter passes few of them the page may hold less than
   * `limit`, even nothing, and still have a `next_cursor` to go on with. Only without one is the list at its end.
   */
  async list(caller: Caller, input: z.input<typeof listAuditInput> = {}): Promise<Page<AuditEvent>> {
    await this.#context.authorize(caller, "audit.list");
    const { limit = 50, cursor, ...filter } = parseInput(listAuditInput, input);
    const bound = JSON.parse(JSON.stringify(filter)) as JsonObject;
    const position = cursor === undefined ? Infinity : toSequence(decodeCursor("audit", bound, cursor));
    const { head, base } = await this.#context.storage.readLog(auditLog, { reverse: true, limit: 1 });
    const newest = Math.min(position, head.sequence);
    const oldest = Math.max(base.sequence + 1, newest - mostRead + 1);
    const items: AuditEvent[] = [];
    for (let to: number | null = newest; to !== null && to >= oldest;) {
      const page: LogPage<OrchestratorEvent> = await this.#context.storage.readLog(auditLog, {
        reverse: true,
        limit: 200,
        from: oldest,
        to,
        ...(filter.event_type !== undefined && { where: { event_type: filter.event_type } }),
      });
      for (const entry of page.entries) {
        if (!passes(entry.value, filter)) continue;
        if (items.length === limit)
          return { items, next_cursor: encodeCursor("audit", bound, entry.sequence) };
        items.push(toAuditEvent(entry));
      }
      to = page.next;
    }
    const isEnd = oldest <= base.sequence + 1;
    return { items, next_cursor: isEnd ? null : encodeCursor("audit", bound, oldest - 1) };
  }

  /**
   * Removes the events before an instant. Only the oldest go, so what stays still verifies; the removal is an event itself.
   *
   * Of several at once, each goes on where the one before ended.
   *
   * @returns How many this call took out of the log, those included that an earlier call left when the process ended in it.
   * @throws {OrchestratorError} `STORAGE_CORRUPT` where somebody else has written where the log begins: see {@link Audit.verify}.
   */
  async prune(caller: Caller, input: z.input<typeof pruneAuditInput>): Promise<{ deleted: number }> {
    await this.#context.authorize(caller, "audit.prune");
    const { before } = parseInput(pruneAuditInput, input);
    return { deleted: await this.#pruning.prune(Date.parse(before), caller) };
  }

  /** Reads for how long events are kept. */
  async getRetention(caller: Caller): Promise<AuditRetention> {
    await this.#context.authorize(caller, "audit.getRetention");
    const stored = await this.#retention();
    return withVersion({ ...stored.value }, stored.revision);
  }

  /**
   * Sets for how long events are kept, in days; null keeps them for ever.
   *
   * @throws {OrchestratorError} `PRECONDITION_FAILED`.
   */
  async setRetention(
    caller: Caller,
    input: z.input<typeof setRetentionInput>,
    options?: ChangeOptions,
  ): Promise<AuditRetention> {
    await this.#context.authorize(caller, "audit.setRetention");
    const { retention_days } = parseInput(setRetentionInput, input);
    return retryOnConflict(async () => {
      const { value, revision } = await this.#retention();
      requireVersion({ revision }, options);
      const put = { kind: "put", collection: "settings", key: "audit_retention" } as const;
      await this.#context.commit(
        answering(caller, { retention_days }),
        [{ ...put, value: { retention_days }, expected: revision }],
        {
          type: "audit.retentionChanged",
          target: { type: "audit", id: "retention", name: "audit retention" },
          summary: `Audit events are now kept for ${retention_days === null ? "ever" : `${retention_days} days`}`,
          metadata: { before: value.retention_days, after: retention_days },
        },
      );
      return withVersion({ retention_days }, revision + 1);
    });
  }

  /** Recomputes the whole chain and names the first event that does not fit. Costs a read of every event. */
  async verify(caller: Caller): Promise<AuditVerification> {
    await this.#context.authorize(caller, "audit.verify");
    for (;;) {
      const anchor = await readAnchor(this.#context);
      const verification = await this.#verifyFrom(anchor);
      if (verification.valid) return verification;
      // Old events may have been removed while they were read: then it is begun again.
      const now = await readAnchor(this.#context);
      if (now?.revision === anchor?.revision) return verification;
    }
  }

  async #verifyFrom(anchor: StoredDocument<Anchor> | null): Promise<AuditVerification> {
    if (anchor && !isOurs(this.#context, anchor.value))
      return { valid: false, from_sequence: 1, to_sequence: 0, first_bad_sequence: 1, head_hash: noHash };
    let previous = anchor?.value.hash ?? noHash;
    let expected = (anchor?.value.sequence ?? 0) + 1;
    const first = expected;
    const range = () => ({ from_sequence: first, to_sequence: expected - 1, head_hash: previous });
    // What the anchor vouches for may still be there: the process may have ended between anchor and removal.
    let from: number | null = first;
    while (from !== null) {
      const page = await this.#readPage(from);
      if ("badSequence" in page) return { valid: false, ...range(), first_bad_sequence: page.badSequence };
      for (const entry of page.entries) {
        const fits = entry.sequence === expected && entry.hash === this.#hash(previous, entry);
        if (!fits)
          return { valid: false, ...range(), first_bad_sequence: Math.min(expected, entry.sequence) };
        previous = entry.hash!;
        expected += 1;
      }
      from = page.next;
      if (from === null && page.head.sequence >= expected)
        return { valid: false, ...range(), first_bad_sequence: expected };
      // What the storage has as the newest entry was written with the documents: a whole chain of other entries is none.
      if (from === null && page.head.sequence === expected - 1 && page.head.hash !== previous)
        return { valid: false, ...range(), first_bad_sequence: expected - 1 };
    }
    return { valid: true, ...range() };
  }

  /** Events as they are stored, or the first of them that can't be read any more: that is what verifying is there to find. */
  async #readPage(from: number): Promise<LogPage | { badSequence: number }> {
    try {
      return await this.#context.storage.readLog(auditLog, { from, limit: 1000 });
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
      return { badSequence: Number(error.details["sequence"] ?? from) };
    }
  }

  /** Removes, now and every hour, what is older than the retention. The function returned ends it. */
  keepRetention(): () => Promise<void> {
    const { clock, logger } = this.#context;
    return keepRounds({
      clock,
      everyMs: pruneEveryMs,
      pauseMs: 0,
      round: () => this.#pruneOld(),
      failed: (error) => logger.error("Old audit events were not removed.", { error }),
    });
  }

  async *#pruneOld(): AsyncGenerator<void> {
    const { retention_days: days } = (await this.#retention()).value;
    const now = await this.#context.retentionClock.now();
    // Also where nothing is old: what a call left when the process ended in it.
    yield void (await this.#pruning.prune(days === null ? -Infinity : now - days * dayMs));
  }

  /** Version 0 where nobody has set it yet. */
  async #retention(): Promise<Pick<StoredDocument<AuditRetention>, "value" | "revision">> {
    const stored = await this.#context.storage.get<AuditRetention>("settings", "audit_retention");
    return stored ?? { value: { retention_days: defaultRetentionDays }, revision: 0 };
  }

  #hash(previous: string, { sequence, at, value }: LogEntry): string {
    const body = canonicalJson({ sequence, at, value: value as JsonObject });
    return toHex(this.#context.crypto.sha256(toUtf8(previous + body)));
  }
}

type Filter = Omit<z.output<typeof listAuditInput>, "limit" | "cursor">;

function passes(event: Readonly<OrchestratorEvent>, filter: Filter): boolean {
  const { category, actor, target, from, to, search } = filter;
  if (category !== undefined && eventTable[event.event_type]?.category !== category) return false;
  if (actor !== undefined && event.actor.id !== actor && event.actor.name !== actor) return false;
  if (target !== undefined && event.target?.id !== target && event.target?.name !== target) return false;
  const at = Date.parse(event.timestamp);
  if (from !== undefined && at < Date.parse(from)) return false;
  if (to !== undefined && at >= Date.parse(to)) return false;
  return search === undefined || event.summary.toLowerCase().includes(search.toLowerCase());
}

function toSequence(position: string | number): number {
  if (typeof position === "number" && Number.isSafeInteger(position)) return position;
  throw new OrchestratorError("CURSOR_INVALID");
}

function toAuditEvent({ value, sequence, hash }: LogEntry<OrchestratorEvent>): AuditEvent {
  return { ...value, sequence, hash: hash! };
}
