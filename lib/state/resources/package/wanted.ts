/** What is wanted of each package, and what differs from it: the same for a look and for the work. */
import type { Change } from "../../result.ts";
import type { PackageState } from "./provider.ts";

/** One package as it is to be. */
export interface WantedPackage {
  name: string;
  ensure: "present" | "latest" | "absent" | "purged";
  version?: string | undefined;
  hold?: boolean | undefined;
  /** Whether it is to be there for the sake of others alone. Absent = as it is. */
  auto?: boolean | undefined;
}

/** One package that differs. */
export interface PackageDifference {
  wanted: WantedPackage;
  state: PackageState;
  work: "install" | "remove" | null;
  /** The newest version that is known, where that is what is wanted. */
  candidate: string | null;
  /** Whether it is to be held or let go. */
  hold: boolean;
  /** Whether it is to be there for the sake of others alone, and is not. */
  auto: boolean;
}

/** Compares each package with what stands; in sync ones are left out. */
export function findDifferences(
  wanted: readonly WantedPackage[],
  states: readonly PackageState[],
  candidates: readonly (string | null)[],
): PackageDifference[] {
  return wanted.flatMap((each, index) => {
    const state = states[index];
    if (!state) return [];
    const candidate = each.ensure === "latest" ? (candidates[index] ?? null) : null;
    const work = workFor(each, state, candidate);
    const stays = work === "install" || (work === null && state.version !== null);
    const hold = stays && each.hold !== undefined && each.hold !== state.held;
    // What is installed because it was asked for is there for its own sake.
    const auto = stays && each.auto === true && (state.auto === false || work === "install");
    return work === null && !hold && !auto ? [] : [{ wanted: each, state, work, candidate, hold, auto }];
  });
}

function workFor(
  { ensure, version }: WantedPackage,
  state: PackageState,
  candidate: string | null,
): PackageDifference["work"] {
  if (ensure === "absent") return state.version === null ? null : "remove";
  if (ensure === "purged") return state.version === null && !state.leftovers ? null : "remove";
  if (state.version === null) return "install";
  if (version !== undefined) return matchesVersion(version, state.version) ? null : "install";
  return candidate === null || candidate === state.version ? null : "install";
}

/** Whether a version is the one that is wanted: exactly, or as far as a `*` at its end. */
export function matchesVersion(wanted: string, version: string): boolean {
  return wanted.endsWith("*") ? version.startsWith(wanted.slice(0, -1)) : version === wanted;
}

/** The differences as changes; each property says whose it is, but for those of the only package that was asked for, `own`. */
export function toChanges(differences: readonly PackageDifference[], own: string | null): Change[] {
  return differences.flatMap(({ wanted, state, work, candidate, hold, auto }) => {
    const name = (property: string): string =>
      wanted.name === own ? property : `${property}[${wanted.name}]`;
    const changes: Change[] = [];
    if (work === "remove") {
      const before = state.version === null ? "configuration" : "present";
      changes.push({ property: name("ensure"), before, after: wanted.ensure });
    }
    if (work === "install" && state.version === null)
      changes.push({ property: name("ensure"), before: "absent", after: "present" });
    const after = wanted.version ?? candidate;
    if (work === "install" && after !== null)
      changes.push({ property: name("version"), before: state.version, after });
    if (hold) changes.push({ property: name("hold"), before: state.held, after: wanted.hold ?? null });
    if (auto && work === null) changes.push({ property: name("auto"), before: false, after: true });
    return changes;
  });
}
