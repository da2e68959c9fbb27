/**
 * One rollout on its way: begins agents, batch after batch, and ends.
 *
 *   running ◀──▶ paused            what was begun goes on; nothing else is begun
 *     │  │          │
 *     │  └──too many failures, or cancelled──▶ stopping ──nothing runs any more──▶ failed | cancelled
 *     └─every agent has ended─▶ succeeded | partial | failed
 *
 * Agents are begun in the order of the stored list. How many were begun is part of the rollout's document, which is written
 * in the same step as their operations: whatever ends the process, an agent has its operation or it has none, and after a
 * restart the run goes on with the first that has none. Each step reads the document anew, so that a pause or a cancel that
 * came meanwhile counts. One of a backup begins nobody before an operator has the server go on. How the operations fare is counted as they change and never looked up.
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { Caller } from "../callers/caller.ts";
import { toTimestamp, type Timer } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationRequest } from "../operations/operation-request.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { BackgroundWork } from "../upkeep/background-work.ts";
import type { RefusalDocument, RolloutDocument } from "./documents.ts";
import { GroupWriter } from "./group-writer.ts";
import { MemberRequests, toRefusalPut } from "./member-requests.ts";
import { hasEnded, Progress, resultOf, whyStop } from "./progress.ts";
import { isStale } from "./recap.ts";
import { rolloutFacts, rolloutSubject, titleOf, toPut, type RolloutStore } from "./rollout-store.ts";
import type { Targets } from "./targets.ts";

/** Agents that are begun in one step, so that other calls are answered between two. */
const begunAtOnce = 25;

type Stored = StoredDocument<RolloutDocument>;

/** What a run works with. */
export interface RunParts {
  context: Context;
  agents: AgentService;
  operations: OperationService;
  store: RolloutStore;
  work: BackgroundWork;
}

export class RolloutRun {
  readonly rolloutId: string;
  readonly progress: Progress = new Progress();
  readonly targets: Targets;
  readonly assignment: string | undefined;
  readonly kind: RolloutDocument["kind"];
  /** How it stands as far as the run knows. */
  status: RolloutDocument["status"] | null = null;
  readonly #parts: RunParts;
  readonly #caller: Caller;
  readonly #onEnd: () => void;
  readonly #requests: MemberRequests;
  readonly #groups: GroupWriter;
  #timer: Timer | null = null;
  /** The batch whose pause has passed by the process's own count: the wall clock may have been set back. */
  #pauseOver = -1;
  /** What of its operations was asked to end. */
  #withdrawn = false;
  #cancelled = false;
  /** The edition of the progress that the end was written with. */
  #written = 0;
  #advancing: Promise<void> | null = null;
  #asked = false;

  constructor(
    parts: RunParts,
    rollout: Readonly<RolloutDocument>,
    given: { targets: Targets; onEnd: () => void },
  ) {
    this.#parts = parts;
    this.rolloutId = rollout.rollout_id;
    this.assignment = rollout.assignment;
    this.kind = rollout.kind;
    this.#caller = toCaller(rollout.requested_by);
    this.targets = given.targets;
    this.#onEnd = given.onEnd;
    this.#requests = new MemberRequests(parts, given.targets);
    this.#groups = new GroupWriter(parts, { rolloutId: this.rolloutId, groups: this.progress.groups });
  }

  /** Counts what the operations that were there before came to; called before anything moves. */
  async recall(): Promise<void> {
    const operations = this.#parts.operations.store.ofRollout(this.rolloutId);
    for await (const operation of operations) this.progress.note(operation);
    for await (const refusal of this.#parts.store.refusals(this.rolloutId)) this.progress.refuse([refusal]);
    for await (const group of this.#parts.store.groups(this.rolloutId)) this.progress.groups.recall(group);
    this.#groups.later();
  }

  /** One of its operations was made or changed. */
  note(operation: Readonly<OperationDocument>): void {
    this.progress.note(operation);
    this.#groups.later();
    if (operation.status !== "queued" && operation.status !== "running") this.go();
  }

  /** Goes on as far as it can. */
  go(): void {
    this.#parts.work.do(() => this.#advance());
  }

  /** As {@link go}, and resolves when it can go no further for now. */
  async goNow(): Promise<void> {
    await this.#advance().catch((error: unknown) => {
      // What can't be written now is tried again; the rollout itself is on disk.
      this.#parts.context.logger.warn("A rollout could not go on.", { error, rollout_id: this.rolloutId });
      this.go();
    });
  }

  /** Writes which agents have equal changes, as far as it is known; it is written by itself a second later. */
  writeGroups(): Promise<void> {
    return this.#groups.now();
  }

  /** Resolves when it can go no further, also where somebody else has had it go on. */
  #advance(): Promise<void> {
    this.#asked = true;
    return (this.#advancing ??= this.#goOn());
  }

  async #goOn(): Promise<void> {
    try {
      while (this.#asked) {
        this.#asked = false;
        while (await this.#tryStep());
      }
    } finally {
      this.#advancing = null;
    }
  }

  /** Whether there may be another step at once. */
  async #tryStep(): Promise<boolean> {
    try {
      return await this.#step(await this.#parts.store.read(this.rolloutId));
    } catch (error) {
      if (isOrchestratorError(error, "REVISION_CONFLICT")) return true;
      throw error;
    }
  }

  async #step(stored: Stored): Promise<boolean> {
    const { value: rollout } = stored;
    const { open, failures } = this.progress;
    this.status = rollout.status;
    if (hasEnded(rollout.status)) return this.#leave();
    if (rollout.status === "stopping") return this.#stopFurther(stored);
    const end = this.targets.ends[rollout.batch]!;
    if (rollout.begun === end) return open === 0 && this.#endBatch(stored);
    if (rollout.status === "paused" || this.#parts.context.epochs.isHeld(rollout)) return false;
    const reason = whyStop(rollout, { failed: failures }, false);
    if (reason !== null) return this.#stop(stored, reason);
    // What a maintenance window holds takes nobody's place; when the window ends it comes little by little.
    const held = this.#parts.operations.held.countOf(this.rolloutId);
    const free = this.#parts.context.options.rolloutConcurrency - (open - held);
    if (this.#mustPause(rollout) || free <= 0) return false;
    const count = Math.min(begunAtOnce, free, end - rollout.begun);
    await this.#begin(stored, count);
    if (count === begunAtOnce) await nextTurn();
    return true;
  }

  async #endBatch(stored: Stored): Promise<boolean> {
    const { value: rollout } = stored;
    const { strategy, batch } = rollout;
    if (batch + 1 === this.targets.ends.length)
      return this.#end(stored, resultOf(this.progress.countsOf(rollout)));
    const { stale, cancelled } = this.progress.countsOf(rollout);
    const reason = whyStop(rollout, { failed: this.progress.failures, stale, cancelled }, true);
    if (reason !== null) return this.#stop(stored, reason);
    const notBefore = this.#parts.context.fleetTime.now() + (strategy.pause_seconds ?? 0) * 1000;
    const pause = strategy.pause_seconds === undefined ? {} : { not_before: notBefore };
    await this.#write(stored, { ...rollout, ...pause, batch: batch + 1 });
    return true;
  }

  /** Whether the pause before a batch is not over; then a timer goes on. */
  #mustPause({ batch, not_before = 0, strategy }: Readonly<RolloutDocument>): boolean {
    const { context, work } = this.#parts;
    const leftMs = Math.min(not_before - context.fleetTime.now(), (strategy.pause_seconds ?? 0) * 1000);
    if (leftMs <= 0 || this.#pauseOver >= batch) return false;
    this.#timer?.cancel();
    this.#timer = work.after(leftMs, () => {
      this.#pauseOver = batch;
      return this.#advance();
    });
    return true;
  }

  /** Gives the next agents of the list their operations, all in the step that says that they have them. */
  async #begin(stored: Stored, count: number): Promise<void> {
    const { value: rollout } = stored;
    const requests: OperationRequest[] = [];
    const refusals: RefusalDocument[] = [];
    let lost = 0;
    for (const target of this.targets.agents.slice(rollout.begun, rollout.begun + count)) {
      // What fails at once may end the rollout: then the next agent is left alone.
      if (whyStop(rollout, { failed: this.progress.failures + lost }, false) !== null) break;
      try {
        requests.push(await this.#requests.of(target, rollout));
        if (this.#requests.isInVain(target, rollout)) lost += 1;
      } catch (error) {
        if (!isOrchestratorError(error) || error.retryable || error.code.startsWith("STORAGE_")) throw error;
        refusals.push(await this.#requests.refusalOf(target, rollout, error));
        // Who is left out since a plan is not true any more has not failed.
        if (!isStale({ status: "failed", error })) lost += 1;
      }
    }
    const { not_before: _, ...before } = rollout;
    const writes = [
      toPut(stored, this.#counted({ ...before, begun: rollout.begun + requests.length + refusals.length })),
      ...refusals.map(toRefusalPut),
    ];
    await this.#parts.operations.requestAll(this.#caller, requests, () => ({ writes }));
    this.progress.refuse(refusals);
    this.#groups.later();
  }

  /** Begins nothing any more. */
  async #stop(stored: Stored, reason: string): Promise<boolean> {
    const { value: rollout } = stored;
    const event: EventInput = {
      type: "rollout.stopped",
      target: rolloutSubject(rollout),
      summary: `The rollout of ${titleOf(rollout)} was stopped: ${reason}`,
      metadata: { ...rolloutFacts(rollout), batch: rollout.batch + 1, failures: this.progress.failures },
    };
    await this.#write(stored, { ...rollout, status: "stopping", ending: "failed", reason }, event);
    return true;
  }

  /** What is in line is taken out of it; what runs on a machine is left to end, but for a command that somebody cancelled. */
  async #stopFurther(stored: Stored): Promise<boolean> {
    const { operations } = this.#parts;
    const { cancelled_by } = stored.value;
    if (!this.#withdrawn && this.progress.open > 0) await operations.withdrawAll(this.rolloutId);
    this.#withdrawn = true;
    if (cancelled_by && !this.#cancelled && this.progress.open > 0)
      await operations.cancelAll(toCaller(cancelled_by), this.rolloutId);
    this.#cancelled ||= cancelled_by !== undefined;
    return this.progress.open === 0 && this.#end(stored, stored.value.ending ?? "cancelled");
  }

  async #end(stored: Stored, status: "succeeded" | "partial" | "failed" | "cancelled"): Promise<boolean> {
    const { ending: _, not_before: _2, ...rollout } = stored.value;
    const ended = { ...rollout, status, finished_at: toTimestamp(this.#parts.context.clock.now()) };
    const { succeeded } = this.progress.countsOf(ended);
    const event: EventInput = {
      type: "rollout.finished",
      target: rolloutSubject(ended),
      summary: `The rollout of ${titleOf(ended)} ended: ${status}, ${succeeded} of ${ended.matched} agents succeeded`,
      metadata: { ...rolloutFacts(ended), status, counts: this.progress.countsOf(ended) },
    };
    await this.#groups.now();
    this.#written = this.progress.edition;
    await this.#write(stored, ended, event);
    return this.#leave();
  }

  /** Of one that has ended. What nobody knew may have become known meanwhile; where that can't be written at once it is tried again. */
  async #leave(): Promise<boolean> {
    while (this.progress.edition !== this.#written) {
      const { edition } = this.progress;
      await this.#groups.now();
      await this.#parts.store.update(this.#caller, this.rolloutId, (now) => ({
        rollout: this.#counted(now),
      }));
      this.#written = edition;
    }
    this.#timer?.cancel();
    this.#onEnd();
    return false;
  }

  #write(stored: Stored, rollout: RolloutDocument, event?: EventInput): Promise<void> {
    this.status = rollout.status;
    return this.#parts.store.write(this.#caller, stored, { rollout: this.#counted(rollout), event });
  }

  #counted(rollout: Readonly<RolloutDocument>): RolloutDocument {
    const counts = this.progress.countsOf(rollout);
    return { ...rollout, counts, ...(rollout.kind !== "run" && { recap: this.progress.recap }) };
  }
}

/** Whose wish it is, so that what follows from it is told of them; it gives no rights. */
function toCaller({ type, id, name, origin }: NonNullable<RolloutDocument["cancelled_by"]>): Caller {
  const from = origin && { origin };
  if (type !== "operator") return { kind: "system", ...from };
  return { kind: "operator", operator_id: id, username: name, role: "Viewer", session_id: "", ...from };
}
