/**
 * What is owed while a run lasts.
 *
 * ```
 *   owed by earlier runs ---+
 *                           +--> fired at the turn of its resource --> succeeded: settled
 *   a cause is changed  ----+                                     +--> failed, skipped, cut off: still owed
 * ```
 * What nobody wants any more is dropped, and told.
 */
import { startOf } from "../../internal/canonical-json.ts";
import { type OwedTrigger, OwedTriggers } from "../owed.ts";
import { resourceKey } from "../resource.ts";
import type { ResourceResult } from "../result.ts";
import { type Firing, watchedIds } from "../triggers.ts";
import type { StateItem } from "./state-item.ts";
import { toResult, type ResultParts } from "./state-result.ts";
import type { StateRun } from "./state-run.ts";
import { isWatching } from "./watchers.ts";

/** Why an item may be skipped by one run and not by the next, though nobody asks for anything else. */
const passingReasons: ReadonlySet<string> = new Set(["cancelled", "condition", "unattended"]);

/** As long as the message of a result may be. */
const longestMessage = 4096;

/** Triggers that are owed, through one walk. */
export class Debts {
  readonly #run: StateRun;
  readonly #owed: OwedTriggers;
  /** Whether the run ended before it had come to everything. */
  #isCut = false;

  constructor(run: StateRun) {
    this.#run = run;
    this.#owed = new OwedTriggers(run.owed);
  }

  /** The trigger that fires at the turn of an item, for what this run changed and for what earlier ones left; null = none. */
  firingOf(item: StateItem): Firing | null {
    const owed = isWatching(item) ? this.#owed.of(item.identity) : undefined;
    if (!owed) return null;
    const { module } = item.resource;
    const named = new Set(owed.causes.map((key) => toId(key, module)));
    // As the resource lists them; what it does not list any more comes last.
    const listed = [...new Set(watchedIds(item.resource))].filter((id) => named.delete(id));
    const isOld = owed.operation_id !== this.#run.operationId;
    return {
      trigger: owed.trigger,
      causes: [...listed, ...named],
      owedSince: isOld ? owed.operation_id : null,
    };
  }

  /** Notes what came of an item: what it owed is settled where it succeeded, and whoever watches it owes from now on. */
  note(item: StateItem, { outcome, skipped_because }: ResourceResult, firing: Firing | null): void {
    this.#isCut ||= skipped_because === "cancelled";
    // Its twin may have been changed; it was not looked at.
    if (skipped_because === "condition") return;
    if (this.#run.mode === "check" || item.removal) return;
    const succeeded = outcome === "changed" || outcome === "would_change";
    if (firing && (succeeded || outcome === "unknown")) this.#owed.settle(item.identity);
    // What failed after it was begun may have changed what a daemon reads all the same.
    if (!succeeded && !item.begun && item.sameAs?.begun !== true) return;
    const { operationId } = this.#run;
    for (const { watched, ...watcher } of this.#run.watchers.of(item))
      for (const { key, trigger } of watched) this.#owed.incur(watcher, { key, trigger, operationId });
  }

  /** Adds to what is told of an item that what it owed is wanted by nobody any more. */
  tellDropped(item: StateItem, parts: ResultParts): ResultParts {
    const owed = this.#owed.of(item.identity);
    if (this.#run.mode === "check" || !owed || this.#run.watchers.canPay(item.identity)) return parts;
    // It stays on the machine as it is: its condition may hold again, or somebody asks for its removal.
    if (parts.skipped_because !== undefined && passingReasons.has(parts.skipped_because)) return parts;
    // Another module may watch, which this run is not about.
    if (item.others.length > 0) return parts;
    this.#owed.settle(item.identity);
    const dropped = `Its ${owed.trigger}, owed since operation ${owed.operation_id}, is dropped: it is not asked for any more.`;
    const before = parts.message && startOf(parts.message, longestMessage - dropped.length - 1);
    return { ...parts, message: before === undefined ? dropped : `${before} ${dropped}` };
  }

  /** Results of what is owed by things that the run was not about. */
  rest(items: readonly StateItem[]): ResourceResult[] {
    const { mode } = this.#run;
    if (this.#isCut) return [];
    const about = new Set(items.map(({ identity }) => identity));
    const rest = this.#owed.all().filter(({ thing }) => !about.has(thing));
    if (mode === "check") return rest.map((owed) => toOwedResult(owed, {}));
    const dropped = rest.filter((owed) => this.#isInScope(owed));
    return dropped.map((owed) => {
      this.#owed.settle(owed.thing);
      return toOwedResult(owed, {
        outcome: "skipped",
        action: "none",
        skipped_because: "undesired",
        message: `Its ${owed.trigger} is dropped: the resource is not desired any more.`,
      });
    });
  }

  #isInScope({ thing, module }: OwedTrigger): boolean {
    const { scope, applied } = this.#run;
    return scope.has({ module }) && scope.outside(applied.get(thing)).length === 0;
  }

  /** What is owed now. */
  all(): OwedTrigger[] {
    return this.#owed.all();
  }
}

/** Tells of an owed trigger as a result does, in words of the module that owes it. */
function toOwedResult(owed: OwedTrigger, parts: Partial<ResultParts>): ResourceResult {
  const found: ResultParts = {
    outcome: "would_change",
    action: owed.trigger,
    caused_by: owed.causes.map((key) => toId(key, owed.module)),
    owed_since: owed.operation_id,
    ...parts,
  };
  return toResult({ resource: { ...owed, sensitive: false }, hides: "nothing" }, found, 0);
}

/** A resource by its id where it is of the same module, and in full where it is of another. */
function toId(key: string, module: string): string {
  const within = resourceKey({ module, resource_id: "" });
  return key.startsWith(within) ? key.slice(within.length) : key;
}
