/** Who watches whom among the items of a run, and which of it the caller has been told. */
import type { Watching } from "../owed.ts";
import { resourceKey } from "../resource.ts";
import { triggerProperties, triggers, watchesAny } from "../triggers.ts";
import type { StateItem } from "./state-item.ts";

/** Resources that watch others, by what they watch. Those that are taken away or skipped by their condition watch nothing. */
export class Watchers {
  readonly #byKey = new Map<string, Watching[]>();
  readonly #watching = new Set<string>();
  readonly #items = new Map<string, StateItem>();
  readonly #told = new Set<string>();
  /** What was walked to find what to tell. */
  #walked = new Set<string>();

  /** @param sharers - What modules that the run is not about were applied with, where they share things with the items. */
  constructor(items: readonly StateItem[], sharers: readonly StateItem[] = []) {
    const watching = items.filter(isWatching);
    const besides = sharers.filter(isWatching);
    if (watching.length + besides.length === 0) return;
    for (const item of [...items, ...sharers])
      if (!item.removal && !item.resource.skip) this.#items.set(item.key, item);
    for (const item of watching) this.#watching.add(item.identity);
    for (const item of [...watching, ...besides]) this.#add(item);
  }

  /** Who watches an item, or what other modules say of the same thing, each with that alone as what it watches. */
  of({ key, others }: Pick<StateItem, "key" | "others">): readonly Watching[] {
    const own = this.#byKey.get(key) ?? [];
    if (others.length === 0) return own;
    return [...own, ...others.flatMap((other) => this.#byKey.get(resourceKey(other)) ?? [])];
  }

  /** Whether some item that is about a thing watches anything, so that it can pay what the thing owes. */
  canPay(thing: string): boolean {
    return this.#watching.has(thing);
  }

  /** What may come to be owed where these items are changed, as far as it has not been told. */
  untold(items: readonly StateItem[]): Watching[] {
    const byWatcher = new Map<string, Watching>();
    const waiting = [...items];
    const walked = new Set<string>();
    for (let item = waiting.pop(); item; item = waiting.pop()) {
      // What was told was told with all that follows from it.
      if (this.#told.has(item.key) || walked.has(item.key)) continue;
      walked.add(item.key);
      for (const { watched, ...watcher } of this.of(item)) {
        const name = `${watcher.module}/${watcher.resource_id}`;
        // What follows a trigger was changed as well, for those that watch it.
        const follower = this.#items.get(name);
        if (follower) waiting.push(follower);
        const known = byWatcher.get(name) ?? { ...watcher, watched: [] };
        known.watched.push(...watched);
        byWatcher.set(name, known);
      }
    }
    this.#walked = walked;
    return [...byWatcher.values()];
  }

  /** Notes that the caller was told what {@link untold} gave last. */
  tell(): void {
    for (const key of this.#walked) this.#told.add(key);
  }

  #add({ resource, identity: thing }: StateItem): void {
    const { module, resource_id, type, identity } = resource;
    const strongest = new Map(
      triggers.flatMap((trigger) =>
        (resource[triggerProperties[trigger]] ?? []).map((id) => [`${module}/${id}`, trigger] as const),
      ),
    );
    for (const [key, trigger] of strongest) {
      const cause = this.#items.get(key);
      if (!cause) continue;
      const watched = [{ thing: cause.identity, key, trigger }];
      const watching = { thing, module, resource_id, type, identity, watched };
      const known = this.#byKey.get(key);
      if (known) known.push(watching);
      else this.#byKey.set(key, [watching]);
    }
  }
}

/** Whether an item acts when others change. */
export function isWatching({ resource, removal }: Pick<StateItem, "resource" | "removal">): boolean {
  return !removal && !resource.skip && watchesAny(resource);
}
