/** Names in a folder for what has none on the server that only one may have. */
import type { PresentThing } from "fleetwright";

/** A thing under its name in a folder. */
export interface NamedThing {
  name: string;
  thing: PresentThing;
  /** Whether it is found by that name; else by its id. */
  isByName: boolean;
}

/** Letters of a name that is made of what people call a thing; what comes after makes it one of its kind. */
const longestMade = 48;

/**
 * Names things of one kind, in the order of their names: as the folder of a label does, by their own names, or by what others call
 * them.
 */
export function namesFor(things: readonly PresentThing[], label: string): NamedThing[] {
  const named: NamedThing[] = [];
  const taken = new Set<string>();
  const open: PresentThing[] = [];
  for (const thing of things) {
    const { kind, managedBy } = thing;
    const own = kind === "modules" || kind === "assignments" || kind === "operators" ? thing.name : null;
    const name = own ?? (managedBy?.label === label ? managedBy.name : undefined);
    if (name === undefined) open.push(thing);
    else {
      taken.add(name.toLowerCase());
      named.push({ name, thing, isByName: true });
    }
  }
  // The oldest first, so that the same server gives the same names: ids are in order of time.
  for (const thing of open.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    named.push({ name: freeName(thing, taken), thing, isByName: false });
  return named.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function freeName({ kind, name, managedBy }: PresentThing, taken: Set<string>): string {
  const made = (managedBy?.name ?? name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, longestMade)
    .replaceAll(/^-+|-+$/g, "");
  const base = made === "" ? kind.slice(0, -1) : made;
  let free = base;
  for (let count = 2; taken.has(free); count += 1) free = `${base}-${count}`;
  taken.add(free);
  return free;
}
