import { type OwedTrigger, OwedTriggers, type Watcher, type Watching } from "../state/owed.ts";
import { resourceKey } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import type { Trigger } from "../state/triggers.ts";
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

/** One thing that is watched, and by whom. */
interface Edge {
  watcher: Watcher;
  key: string;
  trigger: Trigger;
}

/** What is owed, from line to line of a journal. */
class Left {
  readonly #owed: OwedTriggers;
  readonly #names: ThingNames;
  readonly #operationId: string;
  readonly #byThing = new Map<string, Edge[]>();
  readonly #byKey = new Map<string, Edge[]>();
  /** The things of watchers, by `module/id`. */
  readonly #things = new Map<string, string>();
  /** What came to be owed when a thing was begun, by that thing. */
  readonly #begun = new Map<string, readonly Edge[]>();
  readonly #given: readonly OwedTrigger[];
  #isSame = true;

  constructor(
    told: readonly Watching[],
    { owed, names, operationId }: { owed: readonly OwedTrigger[]; names: ThingNames; operationId: string },
  ) {
    this.#names = names;
    this.#operationId = operationId;
    this.#given = owed;
    this.#owed = new OwedTriggers(owed);
    for (const { watched, ...watcher } of told) {
      this.#things.set(resourceKey(watcher), watcher.thing);
      for (const { thing, key, trigger } of watched) {
        const edge = { watcher, key, trigger };
        add(this.#byThing, thing, edge);
        add(this.#byKey, key, edge);
      }
    }
  }

  follow(record: JournalRecord): void {
    if (record.record === "begun" && !record.removal) this.#begin(record.identity);
    else if (record.record === "untouched") this.#takeBack(record.identity);
    else if (record.record === "result") this.#conclude(record.result);
  }

  incurAll(): void {
    for (const edges of this.#byKey.values()) this.#incur(edges);
  }

  all(): readonly OwedTrigger[] {
    return this.#isSame ? this.#given : this.#owed.all();
  }

  #begin(thing: string): void {
    this.#begun.set(thing, this.#incur(this.#byThing.get(thing) ?? []));
  }

  #takeBack(thing: string): void {
    for (const { watcher, key } of this.#begun.get(thing) ?? []) this.#owed.withdraw(watcher.thing, key);
    this.#begun.delete(thing);
  }

  #conclude(result: ResourceResult): void {
    // What is taken away is watched by nobody, whatever has its id now.
    if (result.outcome !== "changed" || (result.action === "remove" && !this.#isWatched(result))) return;
    const key = resourceKey(result);
    if (result.caused_by.length > 0) {
      this.#owed.settle(this.#things.get(key) ?? this.#names.ofResult(result));
      this.#isSame = false;
    }
    // Who only followed a trigger has changed for those that watch it.
    this.#incur(this.#byKey.get(key) ?? []);
  }

  /** Whether what was taken away is what is watched under its id, which is then to be absent. */
  #isWatched(result: ResourceResult): boolean {
    return this.#byThing.has(this.#names.ofResult(result));
  }

  /** Gives those that are new. */
  #incur(edges: readonly Edge[]): Edge[] {
    const operationId = this.#operationId;
    if (edges.length > 0) this.#isSame = false;
    return edges.filter(({ watcher, key, trigger }) =>
      this.#owed.incur(watcher, { key, trigger, operationId }),
    );
  }
}

function add(edges: Map<string, Edge[]>, name: string, edge: Edge): void {
  const known = edges.get(name);
  if (known) known.push(edge);
  else edges.set(name, [edge]);
}
