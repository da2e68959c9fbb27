/**
 * When assignments with a schedule are due. The next due time of each is on disk: whoever carries one out writes the next
 * in the same step, so that no due time counts twice.
 */
import type { Context } from "../context.ts";
import { toJsonObject } from "../json.ts";
import type { Schedule } from "../schedules/cron.ts";
import { isUnreadable, requireNext } from "../schedules/schedule.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { AssignmentDocument, DueDocument } from "./documents.ts";

const collection = "assignment_schedules";

/** A due time further ahead than this was written by a clock that was wrong. */
const plausibleMs = 3_600_000;

export class DueAssignments {
  readonly #context: Context;
  #watcher = (): void => {};

  constructor(context: Context) {
    this.#context = context;
  }

  /** Has somebody hear of every schedule that is set from now on. */
  watch(watcher: () => void): void {
    this.#watcher = watcher;
  }

  /** An assignment was written together with what {@link change} told to write. */
  changed(): void {
    this.#watcher();
  }

  /** When an assignment is due next; null where it has no schedule. */
  async nextOf(name: string): Promise<number | null> {
    return (await this.#find(name))?.value.next_run_at ?? null;
  }

  /**
   * What to write beside an assignment that changes from `before` to `after`; null = there is none.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` for a schedule that can't be read or never comes.
   */
  async change(
    before: Readonly<AssignmentDocument> | null,
    after: Readonly<AssignmentDocument> | null,
  ): Promise<Write[]> {
    if (JSON.stringify(before?.schedule) === JSON.stringify(after?.schedule)) return [];
    const key = (after ?? before)!.name;
    if (!after?.schedule) return [{ kind: "delete", collection, key }];
    const next = requireNext(this.#context.cron, after.schedule, {
      path: "schedule",
      afterMs: this.#context.clock.now(),
    });
    const stored = await this.#find(key);
    return [this.#put({ name: key, next_run_at: next }, stored?.revision ?? 0)];
  }

  /** Those that are due at an instant, the longest first. Each is told once, also where it stays due. */
  due(nowMs: number): AsyncGenerator<StoredDocument<DueDocument>> {
    const query = { index: "by_due", to: nowMs + 1 };
    return eachDocument<DueDocument>(this.#context.storage, collection, query);
  }

  /** When the next is due that is not due at an instant; null where there is none. */
  async nextFrom(nowMs: number): Promise<number | null> {
    const query = { index: "by_due", from: nowMs + 1, limit: 1 };
    const page = await this.#context.storage.list<DueDocument>(collection, query);
    return page.items[0]?.value.next_run_at ?? null;
  }

  /**
   * What to write in the step that carries a due time out, or passes over it: those that were missed meanwhile are over. One that was
   * passed over because it is late comes again where it turns out that the clock was ahead: see {@link realign}.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` where the schedule can't be read here.
   */
  advance(stored: StoredDocument<DueDocument>, schedule: Schedule | undefined, isLate = false): Write {
    const { name, next_run_at, last_run_at } = stored.value;
    const next =
      schedule && this.#context.cron.next(schedule, Math.max(this.#context.clock.now(), next_run_at));
    if (typeof next !== "number") return { kind: "delete", collection, key: name, expected: stored.revision };
    const lastRunAt = isLate ? last_run_at : next_run_at;
    const last = lastRunAt === undefined ? {} : { last_run_at: lastRunAt };
    return this.#put({ name, next_run_at: next, ...last }, stored.revision);
  }

  /** What to write where a due time is passed over while its schedule can't be read; null where it was before. */
  passOver({ value, revision }: StoredDocument<DueDocument>): Write | null {
    return value.is_over === true ? null : this.#put({ ...value, is_over: true }, revision);
  }

  /**
   * Brings due times that lie too far ahead back to what the clock says now: it was wrong when they were written.
   *
   * @param scheduleOf - The present schedule of an assignment.
   */
  async realign(scheduleOf: (name: string) => Promise<Schedule | undefined>): Promise<void> {
    const now = this.#context.clock.now();
    for await (const stored of eachDocument<DueDocument>(this.#context.storage, collection)) {
      const { is_over: _, ...due } = stored.value;
      const { name, next_run_at, last_run_at = 0 } = due;
      const schedule = await scheduleOf(name);
      // What was carried out a moment ahead of a clock that was set back a little is not carried out again.
      const afterMs = last_run_at > now + plausibleMs ? now : Math.max(now, last_run_at);
      const next = schedule && this.#nextIfReadable(name, schedule, afterMs);
      if (typeof next !== "number" || next >= next_run_at) continue;
      await this.#context.storage.commit([this.#put({ ...due, next_run_at: next }, stored.revision)]);
    }
  }

  /** One that could be read when it was written, and can't here, e.g. for want of its time zone, must not keep the others: null. */
  #nextIfReadable(name: string, schedule: Schedule, afterMs: number): number | null {
    const { cron, logger } = this.#context;
    try {
      return cron.next(schedule, afterMs);
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      logger.error("The schedule of an assignment can't be read.", { error, assignment: name });
      return null;
    }
  }

  #find(name: string): Promise<StoredDocument<DueDocument> | null> {
    return this.#context.storage.get<DueDocument>(collection, name);
  }

  #put(document: DueDocument, expected: number): Write {
    const value = toJsonObject(document);
    return { kind: "put", collection, key: document.name, value, expected };
  }
}

/** When the next run is due once these writes are made. */
export async function nextAfter(
  [write]: readonly Write[],
  now: () => Promise<number | null>,
): Promise<number | null> {
  if (write === undefined) return now();
  return write.kind === "put" ? Number(write.value["next_run_at"]) : null;
}
