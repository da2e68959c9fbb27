/**
 * Begins the rollouts of assignments with a schedule. A due time is carried out in the step that writes the next, so that
 * none counts twice. One that was missed by less than an hour is carried out late, once; an older one is passed over, and
 * an event says so. A clock that jumps ahead makes at most one run of each assignment; one that jumps back makes due
 * times that are too far ahead be worked out anew. After a restore none is carried out before an operator has the server go on, and
 * those that came until then are passed over: they may have been carried out elsewhere.
 */
import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { AssignmentDocument, DueDocument } from "../assignments/documents.ts";
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp, type Timer } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { Schedule } from "../schedules/cron.ts";
import { isUnreadable } from "../schedules/schedule.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";

/** How late a due time is still carried out. */
const graceMs = 3_600_000;

/** How often the clock is looked at while there are schedules, so that one that was set is noticed. */
const longestWaitMs = 30_000;

/** How long to wait after a failure, growing from the first to the longest. */
const firstRetryMs = 1_000;
const longestRetryMs = 60_000;

/** What the wall clock may gain or lose against the count of the process before it was set. */
const driftMs = 5_000;

interface Parts {
  assignments: AssignmentService;
  work: BackgroundWork;
  /** Begins a rollout, together with a write. */
  begin: (assignment: Readonly<AssignmentDocument>, write: Write) => Promise<unknown>;
  /** Whether a rollout of an assignment has not ended. */
  isRunning: (assignment: string) => boolean;
}

/** A due time that is passed over. */
export interface MissedRun {
  assignment: string;
  due_at: string;
}

/** Due times that are passed over, and what to write and to tell of them. */
export interface PassedOver {
  missed: MissedRun[];
  writes: Write[];
  events: EventInput[];
}

export class ScheduledRollouts {
  readonly #context: Context;
  readonly #parts: Parts;
  #timer: Timer | null = null;
  /** Of the clock when due times were brought into line with it; null where that is to be done, as at the start. */
  #offset: number | null = null;
  #isTicking = false;
  #isAsked = false;
  #retryMs = firstRetryMs;
  /** Assignments that are due, of which it was logged that their schedules can't be read. */
  #unreadable: ReadonlySet<string> = new Set();

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  start(): void {
    this.#parts.assignments.due.watch(() => this.look());
    this.look();
  }

  /** Looks what is due. */
  look(): void {
    this.#parts.work.do(() => this.#tick());
  }

  /** Passes over all that is due now, with an event each, once what it returns is committed: with `REVISION_CONFLICT` where a schedule changed meanwhile. */
  async passingOver(reason: string): Promise<PassedOver> {
    const passed: PassedOver = { missed: [], writes: [], events: [] };
    for await (const due of this.#parts.assignments.due.due(this.#context.clock.now())) {
      const { name, next_run_at } = due.value;
      const assignment = await this.#find(name);
      const write = this.#over(due, assignment?.schedule);
      if (write === null) continue;
      passed.writes.push(write);
      passed.events.push(skippedEvent(due.value, reason));
      passed.missed.push({ assignment: name, due_at: toTimestamp(next_run_at) });
    }
    return passed;
  }

  /** What to write where a due time is passed over; null where it was before, and nobody can tell the next: see {@link isUnreadable}. */
  #over(due: StoredDocument<DueDocument>, schedule: Schedule | undefined): Write | null {
    try {
      const write = this.#parts.assignments.due.advance(due, schedule);
      return due.value.is_over === true ? null : write;
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return this.#parts.assignments.due.passOver(due);
    }
  }

  /** One at a time: who asks meanwhile has it go round once more. */
  async #tick(): Promise<void> {
    this.#isAsked = true;
    if (this.#isTicking) return;
    this.#isTicking = true;
    this.#timer?.cancel();
    let waitMs: number | null = firstRetryMs;
    while (this.#isAsked) {
      this.#isAsked = false;
      waitMs = await this.#round();
    }
    this.#isTicking = false;
    if (waitMs !== null) this.#timer = this.#parts.work.after(waitMs, () => this.#tick());
  }

  /** Carries out what is due. Returns how long to wait for the next round, null where nothing has a schedule. Never rejects. */
  async #round(): Promise<number | null> {
    const { due } = this.#parts.assignments;
    if (this.#context.epochs.isPaused) return null;
    try {
      if (this.#offset === null || Math.abs(this.#clockOffset() - this.#offset) > driftMs) {
        const offset = this.#clockOffset();
        await this.#realign();
        this.#offset = offset;
      }
      const now = this.#context.clock.now();
      let hasFailed = false;
      const unreadable = new Set<string>();
      for await (const each of due.due(now)) {
        const outcome = await this.#try(each);
        hasFailed ||= outcome === "failed";
        if (outcome === "unreadable") unreadable.add(each.value.name);
      }
      this.#unreadable = unreadable;
      if (hasFailed) return this.#nextRetry();
      this.#retryMs = firstRetryMs;
      const next = await due.nextFrom(now);
      if (next === null) return unreadable.size > 0 ? longestWaitMs : null;
      return Math.min(Math.max(next - this.#context.clock.now(), 0), longestWaitMs);
    } catch (error) {
      this.#context.logger.error("The schedules of assignments could not be kept.", { error });
      return this.#nextRetry();
    }
  }

  /** What failed is still due: without a wait it would be tried again without end. */
  #nextRetry(): number {
    const waitMs = this.#retryMs;
    this.#retryMs = Math.min(waitMs * 2, longestRetryMs);
    return waitMs;
  }

  /** What became of one: where it could be neither carried out nor passed over, the others must not wait for it. */
  async #try(due: StoredDocument<DueDocument>): Promise<"done" | "failed" | "unreadable"> {
    const { logger } = this.#context;
    const { name } = due.value;
    try {
      await this.#carryOut(due);
      return "done";
    } catch (error) {
      const fields = { assignment: name, error };
      if (!isUnreadable(error)) {
        logger.error("A scheduled rollout could not begin; it is tried again.", fields);
        return "failed";
      }
      if (!this.#unreadable.has(name)) logger.error("The schedule of an assignment can't be read.", fields);
      return "unreadable";
    }
  }

  async #carryOut(due: StoredDocument<DueDocument>): Promise<void> {
    const { name, next_run_at } = due.value;
    const assignment = await this.#find(name);
    const late = this.#context.clock.now() - next_run_at;
    const write = this.#parts.assignments.due.advance(due, assignment?.schedule, late > graceMs);
    try {
      // What was passed over before was told then.
      if (!assignment?.schedule || due.value.is_over === true)
        await this.#context.commit(systemCaller, [write]);
      else if (late > graceMs) await this.#passOver(due, write, "The orchestrator was not there in time.");
      else if (this.#parts.isRunning(name))
        await this.#passOver(due, write, "The rollout before has not ended.");
      else await this.#parts.begin(assignment, write);
    } catch (error) {
      // Somebody changed the schedule, or has carried it out.
      if (isOrchestratorError(error, "REVISION_CONFLICT")) return;
      if (!isOrchestratorError(error) || error.retryable || error.code.startsWith("STORAGE_")) throw error;
      await this.#passOver(due, write, error.message);
    }
  }

  async #passOver(due: StoredDocument<DueDocument>, write: Write, reason: string): Promise<void> {
    await this.#context.commit(systemCaller, [write], skippedEvent(due.value, reason));
  }

  #realign(): Promise<void> {
    return this.#parts.assignments.due.realign(async (name) => (await this.#find(name))?.schedule);
  }

  async #find(name: string): Promise<Readonly<AssignmentDocument> | null> {
    return (await this.#context.storage.get<AssignmentDocument>("assignments", name))?.value ?? null;
  }

  #clockOffset(): number {
    return this.#context.clock.now() - this.#context.clock.monotonic();
  }
}

function skippedEvent({ name, next_run_at }: Readonly<DueDocument>, reason: string): EventInput {
  return {
    type: "schedule.skipped",
    target: { type: "assignment", id: name, name },
    summary: `The scheduled rollout of ${name} was skipped: ${reason}`,
    metadata: { due_at: toTimestamp(next_run_at), reason },
  };
}
