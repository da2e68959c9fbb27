/** What stood before a `package` was applied, name by name; those that would be left as they are are not in it. */
import { z } from "zod";
import type { PackageState } from "./provider.ts";

/** One name, as a prior keeps it. */
export const priorPackageSchema = z.strictObject({
  name: z.string(),
  installed: z.boolean(),
  hold: z.boolean().optional(),
  /** It was there for the sake of others alone. */
  auto: z.boolean().optional(),
});

type PriorPackage = { name: string; installed: boolean; hold?: boolean; auto?: boolean };

/**
 * Adds the holds that stood before a later version asked for some: a hold of ours goes with the package, or from it where it
 * stays. `states` has the names that were asked about.
 */
export function addHolds(
  before: readonly z.infer<typeof priorPackageSchema>[],
  states: ReadonlyMap<string, PackageState>,
): PriorPackage[] {
  const found = new Map(
    before.map(({ name, installed, hold, auto }): [string, PriorPackage] => [
      name,
      { name, installed, ...(hold !== undefined && { hold }), ...(auto !== undefined && { auto }) },
    ]),
  );
  for (const [name, state] of states) {
    const known = found.get(name);
    // What was there before and is no more was taken away by somebody else.
    if (!known && state.version === null) continue;
    const installed = known?.installed ?? true;
    found.set(name, { ...known, name, installed, hold: installed && state.held });
  }
  return [...found.values()];
}

/** A list of names as a prior keeps it: as one text, since a machine has thousands of packages. */
export function packNames(names: readonly string[]): string {
  return [...new Set(names)].toSorted().join(" ");
}

/** What {@link packNames} made one text. */
export function unpackNames(packed: string): Set<string> {
  return new Set(packed.split(" "));
}

/** The name of a package without the architecture that apt may write behind it. */
export const bareName = (name: string): string => name.split(":")[0] ?? name;
