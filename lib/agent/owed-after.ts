import { type OwedTrigger, OwedTriggers, type Watching } from "../state/owed.ts";
import { resourceKey } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import type { CutOperation } from "./cut-operation.ts";
import type { JournalRecord } from "./journal-record.ts";
import type { ThingNames } from "./thing-names.ts";

/**
 * Which triggers are owed after an operation that was cut off: the list that was given where it left that as it was.
 *
 * Whoever watches what was begun owes its trigger, for what came of it nobody told; that is settled only by a result that says so.
 * After a restart of the machine the last lines may be lost, but not who watches what was to be changed: all of these owe.
 */
export function owedAfter(
  { operation_id: operationId, records }: CutOperation,
  { owed, names, isComplete }: { owed: readonly OwedTrigger[]; names: ThingNames; isComplete: boolean },
): readonly OwedTrigger[] {
  const told = records.flatMap((each) => (each.record === "watching" ? each.resources : []));
  if (told.length === 0 && owed.length === 0) return owed;
  const left = new Left(told, { owed, names, operationId });
  for (const record of records) left.follow(record);
  if (!isComplete) left.incurAll();
  return left.all();
}

/** What is owed, from line to line of a journal. */
class Left {
  readonly #owed: OwedTriggers;
  readonly #told: readonly Watching[];
  readonly #names: ThingNames;
  readonly #operationId: string;
  /** What was owed before a thing was begun, by that thing. */
  readonly #before = new Map<string, [thing: string, owed: OwedTrigger | undefined][]>();
  #isSame = true;
  readonly #given: readonly OwedTrigger[];

  constructor(
    told: readonly Watching[],
    { owed, names, operationId }: { owed: readonly OwedTrigger[]; names: ThingNames; operationId: string },
  ) {
    this.#told = told;
    this.#names = names;
    this.#operationId = operationId;
    this.#given = owed;
    this.#owed = new OwedTriggers(owed);
  }

  follow(record: JournalRecord): void {
    if (record.record === "begun") this.#begin(record.identity);
    else if (record.record === "untouched") this.#takeBack(record.identity);
    else if (record.record === "result") this.#conclude(record.result);
  }

  incurAll(): void {
    this.#incur(() => true);
  }

  all(): readonly OwedTrigger[] {
    return this.#isSame ? this.#given : this.#owed.all();
  }

  #begin(thing: string): void {
    const watchers = this.#told.filter(({ watched }) => watched.some((each) => each.thing === thing));
    this.#before.set(
      thing,
      watchers.map((each) => [each.thing, this.#owed.of(each.thing)]),
    );
    this.#incur((watched) => watched.thing === thing);
  }

  #takeBack(thing: string): void {
    for (const [watcher, owed] of this.#before.get(thing) ?? []) this.#owed.restore(watcher, owed);
    this.#before.delete(thing);
  }

  #conclude(result: ResourceResult): void {
    if (result.outcome !== "changed") return;
    if (result.caused_by.length > 0) {
      this.#owed.settle(this.#thingOf(result));
      this.#isSame = false;
    }
    // Who only followed a trigger has changed for those that watch it.
    const key = resourceKey(result);
    this.#incur((watched) => watched.key === key);
  }

  #thingOf(result: ResourceResult): string {
    const key = resourceKey(result);
    return this.#told.find((each) => resourceKey(each) === key)?.thing ?? this.#names.ofResult(result);
  }

  #incur(isChanged: (watched: Watching["watched"][number]) => boolean): void {
    for (const { watched, ...watcher } of this.#told) {
      for (const { key, trigger } of watched.filter(isChanged)) {
        this.#owed.incur(watcher, { key, trigger, operationId: this.#operationId });
        this.#isSame = false;
      }
    }
  }
}
