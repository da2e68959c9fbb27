/** Things of one server as another takes them that has none of them yet. */
import { hasHiddenValues } from "fleetwright";
import type { PresentThing } from "fleetwright";

/** A thing as another server takes it, or why it can't. */
export type Moved = { thing: PresentThing } | { why: string };

/**
 * Prepares things: a module begins there with its newest revision as its first, and secret values of channels stay behind.
 *
 * @param present - All that the server has.
 */
export function movable(present: readonly PresentThing[]): (thing: PresentThing) => Moved {
  const newest = new Map(
    present.filter(({ kind }) => kind === "modules").map(({ name, version }) => [name, version]),
  );
  return (thing) => {
    if (thing.kind === "channels" && hasHiddenValues(thing))
      return { why: "a secret value of it is told to nobody: have the channel name a secret before" };
    if (thing.kind !== "assignments") return { thing };
    const modules = ((thing.values["modules"] ?? []) as string[]).map((pinned) => {
      const [name, revision] = pinned.split("@") as [string, string?];
      if (revision === undefined) return pinned;
      return Number(revision) === newest.get(name) ? `${name}@1` : null;
    });
    if (modules.includes(null))
      return { why: "it pins an older revision of a module, which the other server never has" };
    return { thing: { ...thing, values: { ...thing.values, modules: modules as string[] } } };
  };
}
