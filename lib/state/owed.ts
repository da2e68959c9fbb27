/**
 * Owed triggers. A resource that watches others owes its run, reload or restart from before one of them is changed until it has
 * succeeded, whatever comes in between: a failure, a cancel, a kill.
 */
import { z } from "zod";
import { type Trigger, triggers } from "./triggers.ts";

/** A resource that watches others, named so that a later run finds it by any id. */
const watcherSchema = z.strictObject({
  /** What it is about, across types. */
  thing: z.string(),
  module: z.string(),
  resource_id: z.string(),
  type: z.string(),
  /** What it is about to its type, e.g. the name of a service. */
  identity: z.string(),
});

/** A trigger that has not succeeded since something that its resource watches changed. */
export const owedTriggerSchema = watcherSchema.extend({
  trigger: z.enum(triggers),
  /** What changed: `module/id`. */
  causes: z.array(z.string()),
  /** The first operation that changed one of them. */
  operation_id: z.uuid(),
});

/** What comes to be owed where something that a resource watches is changed. */
export const watchingSchema = watcherSchema.extend({
  watched: z.array(
    z.strictObject({
      /** What is watched, across types. */
      thing: z.string(),
      /** The same as a resource: `module/id`. */
      key: z.string(),
      trigger: z.enum(triggers),
    }),
  ),
});

/** A resource that watches others. */
export type Watcher = z.infer<typeof watcherSchema>;

/** A trigger that has not succeeded since something that its resource watches changed. */
export type OwedTrigger = z.infer<typeof owedTriggerSchema>;

/** What comes to be owed where something that a resource watches is changed. */
export type Watching = z.infer<typeof watchingSchema>;

/** As many causes of one owed trigger as a result can list. */
const maxCauses = 2000;

/** An owed trigger while causes are added to it. */
type Growing = Omit<OwedTrigger, "causes"> & { causes: Set<string> };

/** What is owed: at most one trigger for each thing, the strongest. */
export class OwedTriggers {
  readonly #byThing: Map<string, Growing>;

  constructor(owed: readonly OwedTrigger[]) {
    this.#byThing = new Map(owed.map((each) => [each.thing, { ...each, causes: new Set(each.causes) }]));
  }

  /** What a thing owes; undefined = nothing. */
  of(thing: string): OwedTrigger | undefined {
    const owed = this.#byThing.get(thing);
    return owed && toOwed(owed);
  }

  /**
   * Something that a resource watches was changed. What is owed already keeps its first operation.
   *
   * @returns Whether it was no cause before.
   */
  incur(
    { thing, module, resource_id, type, identity }: Watcher,
    by: { key: string; trigger: Trigger; operationId: string },
  ): boolean {
    const known = this.#byThing.get(thing);
    if (!known) {
      const { trigger, operationId: operation_id } = by;
      const causes = new Set([by.key]);
      this.#byThing.set(thing, { thing, module, resource_id, type, identity, trigger, causes, operation_id });
      return true;
    }
    known.trigger = stronger(known.trigger, by.trigger);
    if (known.causes.has(by.key) || known.causes.size >= maxCauses) return false;
    known.causes.add(by.key);
    return true;
  }

  /** What a thing owed is done, or wanted by nobody any more. */
  settle(thing: string): void {
    this.#byThing.delete(thing);
  }

  /** Something that was taken for changed was not. */
  withdraw(thing: string, cause: string): void {
    const owed = this.#byThing.get(thing);
    owed?.causes.delete(cause);
    if (owed?.causes.size === 0) this.#byThing.delete(thing);
  }

  /** All that is owed, what was owed first at the head. */
  all(): OwedTrigger[] {
    return [...this.#byThing.values()].map(toOwed);
  }
}

function toOwed(owed: Growing): OwedTrigger {
  return { ...owed, causes: [...owed.causes] };
}

function stronger(one: Trigger, other: Trigger): Trigger {
  return triggers.indexOf(one) >= triggers.indexOf(other) ? one : other;
}
