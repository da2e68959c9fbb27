/**
 * The restart of what the agent itself is a part of: the last act of a run.
 *
 * ```
 * its trigger fires at its turn --put off--> all others are worked on --> its own turn: its changes are made --> ordered by the caller
 * ```
 * It is put off in a plan as well, so that a plan has the order of the apply. A run has one such act: whatever else would end the
 * agent stays owed.
 */
import type { OwedTrigger } from "../owed.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import type { ResourceResult } from "../result.ts";
import type { Firing } from "../triggers.ts";
import type { StateItem } from "./state-item.ts";
import { failureParts, type ResultParts, toResult, withCauses } from "./state-result.ts";
import type { StateRun } from "./state-run.ts";

/** What is left to be done when a run has ended: its result is told as if it had been done. */
export interface LastAct {
  /** What is restarted. Its properties are those of its type. */
  readonly resource: ResolvedResource;
  /** Names the run of it that is to end. */
  readonly ownRun: string;
  /** Its result among those of the run, once it is done. */
  readonly result: ResourceResult;
  /** Triggers that are owed once it is done. Until then it is those of the run. */
  readonly owedAfter: readonly OwedTrigger[];
  /** Its result where it can't be done. */
  failedFor(error: unknown): ResourceResult;
}

const told = "It restarts the agent itself, when all else is done.";

/** What is put off to the end of one walk. */
export class LastActs {
  readonly #run: StateRun;
  /** What was put off, with the name of the run that would end. */
  readonly #putOff = new Map<StateItem, string>();
  /** Where it could not be told whether it is one. */
  readonly #untold = new Set<StateItem>();
  /** The one that is done, or would be. */
  #taken: StateItem | null = null;
  #act: (Omit<LastAct, "owedAfter"> & { owed: readonly OwedTrigger[] }) | null = null;

  constructor(run: StateRun) {
    this.#run = run;
  }

  /** What was put off, in the order of its turns. */
  get items(): Iterable<StateItem> {
    return this.#putOff.keys();
  }

  /** Puts an item off whose trigger would end the agent; null where its turn is now. */
  putOff(item: StateItem, firing: Firing | null): Promise<boolean> | null {
    const ending = item.target?.type.ending;
    if (!firing || !ending?.triggers.includes(firing.trigger)) return null;
    return this.#run.mode === "check" || this.#putOff.has(item) ? null : this.#ask(item);
  }

  /** Refuses a trigger of which nobody can tell whether it would end the agent amid the run; null = it can be told. */
  refuse(item: StateItem, firing: Firing | null): ResultParts | null {
    if (!firing || !this.#untold.has(item) || this.#run.stop.aborted) return null;
    return withCauses({ ...failureParts(item.resource, item.error), action: firing.trigger }, firing);
  }

  /** How the trigger of an item fires: that of one that was put off is left to the caller. */
  firingOf(item: StateItem, firing: Firing | null): Firing | null {
    return firing && this.#putOff.has(item) ? { ...firing, isLeft: true } : firing;
  }

  /** What is clear of an item that was put off; null where it is to be worked on. */
  decide(item: StateItem, firing: Firing | null): ResultParts | null {
    if (!firing || !this.#putOff.has(item) || !this.#taken) return null;
    const { resource } = this.#taken;
    const message = `It waits for the next apply: ${resourceKey(resource)} restarts the agent in this one.`;
    return { outcome: "skipped", skipped_because: "dependency", message };
  }

  /** Says of an item that was put off that the agent ends with it. */
  tell(item: StateItem, parts: ResultParts): ResultParts {
    const isDone = parts.outcome === "changed" || parts.outcome === "would_change";
    if (!isDone || !this.#putOff.has(item)) return parts;
    this.#taken = item;
    return { message: told, ...parts };
  }

  /** Notes the result of an item whose trigger is left to the caller, and what is owed as long as it was not fired. */
  note(item: StateItem, result: ResourceResult, owed: () => readonly OwedTrigger[]): void {
    const ownRun = this.#putOff.get(item);
    if (this.#run.mode !== "apply" || this.#taken !== item || ownRun === undefined) return;
    const { action, changes, caused_by, owed_since, duration_ms } = result;
    const what = { action, changes, caused_by, ...(owed_since !== undefined && { owed_since }) };
    const failedFor = (error: unknown): ResourceResult =>
      toResult(item, { ...what, ...failureParts(item.resource, error), attempts: 1 }, duration_ms);
    this.#act = { resource: item.resource, ownRun, result, failedFor, owed: owed() };
  }

  /** Whether a result is that of what is left to the caller, who tells it. */
  isLeft(result: ResourceResult): boolean {
    return this.#act?.result === result;
  }

  /** What the caller is left with; `owed` is what is owed once it is done. */
  conclude(owed: OwedTrigger[]): { owed: OwedTrigger[]; lastAct?: LastAct } {
    if (!this.#act) return { owed };
    const { owed: before, ...act } = this.#act;
    return { owed: [...before], lastAct: { ...act, owedAfter: owed } };
  }

  async #ask(item: StateItem): Promise<boolean> {
    const { host, stop } = this.#run;
    try {
      const ownRun = await item.target?.type.ending?.ownRun(item.target.spec, host, stop);
      if (ownRun === null || ownRun === undefined) return false;
      this.#putOff.set(item, ownRun);
      return true;
    } catch (error) {
      item.error = error;
      this.#untold.add(item);
      return false;
    }
  }
}
