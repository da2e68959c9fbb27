/** What is wanted of packages and what stands, for a look, and for what to come back to. */
import type { z } from "zod";
import type { DeclaredParts } from "../../resource-type.ts";
import { foretell } from "./foretell.ts";
import { bareName, type priorPackageSchema, unpackNames } from "./prior.ts";
import type { PackageMachine, PackageProvider } from "./provider.ts";
import { findDifferences, type PackageDifference, type WantedPackage } from "./wanted.ts";

type PriorPackage = z.infer<typeof priorPackageSchema>;

/** Resources that are declared, by the names of their packages. */
export type DeclaredPackages = DeclaredParts<WantedPackages>;

/** What a `package` says of its packages. */
export interface WantedPackages {
  name: string | readonly string[];
  ensure: WantedPackage["ensure"];
  version?: string | undefined;
  hold?: boolean | undefined;
  before?: readonly PriorPackage[] | undefined;
  others?: string | undefined;
  /** Who else declares which packages. */
  declared?: DeclaredPackages | undefined;
}

/** The names that a resource is about. */
export function namesOf({ name }: WantedPackages): readonly string[] {
  return typeof name === "string" ? [name] : name;
}

/** What differs. Asks for the newest versions only where they are wanted. */
export async function look(
  spec: WantedPackages,
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<PackageDifference[]> {
  const wanted = wantedOf(spec);
  // Asked about nothing, package managers tell about everything.
  if (wanted.length === 0) return [];
  const asked = wanted.map(({ name }) => name);
  let states = await provider.query(asked, machine);
  if (wanted.some(({ auto }) => auto) && provider.dependencies) {
    const auto = new Set(await provider.dependencies(asked, machine));
    states = states.map((state, at) => ({ ...state, auto: auto.has(asked[at] ?? "") }));
  }
  const candidates = spec.ensure === "latest" ? await provider.candidates(asked, machine) : [];
  const found = findDifferences(wanted, states, candidates);
  return [...found, ...(await unusedAfter(spec, found, provider, machine))];
}

function wantedOf(spec: WantedPackages): WantedPackage[] {
  const { ensure, version, hold } = spec;
  if (!spec.before) return namesOf(spec).map((name) => ({ name, ensure, version, hold }));
  return spec.before.map(({ installed, ...each }) => ({ ...each, ensure: installed ? "present" : "absent" }));
}

/** What came along with packages that are to go, and is there for them alone. */
async function unusedAfter(
  { others, before, declared }: WantedPackages,
  found: readonly PackageDifference[],
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<PackageDifference[]> {
  const leaving = found.filter(({ work }) => work === "remove").map(({ wanted }) => wanted.name);
  if (others === undefined || leaving.length === 0 || !provider.unused) return [];
  const stays = new Set([...unpackNames(others), ...(before ?? []).map(({ name }) => name)]);
  const unused = await provider.unused(leaving, machine);
  const isToStay = (name: string): boolean => stays.has(name) || declared?.has(name) === true;
  const names = unused.filter((name) => !isToStay(name) && !isToStay(bareName(name)));
  if (names.length === 0) return [];
  // What stood before may need what came later: then both stay.
  if (names.length < unused.length && (await takesMore({ leaving, names }, provider, machine))) return [];
  const wanted = names.map((name): WantedPackage => ({ name, ensure: "absent" }));
  return findDifferences(wanted, await provider.query(names, machine), []).filter(({ state }) => !state.held);
}

/** Whether the removal of `names` beside `leaving` would take others along that `leaving` alone would not. */
async function takesMore(
  { leaving, names }: { leaving: readonly string[]; names: readonly string[] },
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<boolean> {
  const along = (await provider.foretellRemoval?.(leaving, machine)) ?? [];
  const more = (await provider.foretellRemoval?.([...leaving, ...names], machine)) ?? [];
  return more.some((name) => !along.includes(name));
}

/** What stands of each package that would not be left as it is, those included that would go for its sake. */
export async function captureStates(
  spec: WantedPackages,
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<PriorPackage[]> {
  const asked = namesOf(spec);
  const states = await provider.query(asked, machine);
  const effects = await foretell(await look(spec, provider, machine), provider, machine);
  const goes = effects.removes;
  const there = [...asked.filter((_name, at) => (states[at]?.version ?? null) !== null), ...goes];
  const autos = new Set(there.length > 0 ? await provider.dependencies?.(there, machine) : []);
  const mark = (name: string): { auto?: true } => (autos.has(name) ? { auto: true } : {});
  const own = asked.flatMap((name, index): PriorPackage[] => {
    const state = states[index];
    const installed = state !== undefined && state.version !== null;
    const hold = spec.hold === undefined || state === undefined ? {} : { hold: installed && state.held };
    const comesBack = installed && (spec.ensure === "absent" || spec.ensure === "purged");
    const isLeft = installed && !comesBack && spec.hold === undefined && !autos.has(name);
    return isLeft ? [] : [{ name, installed, ...hold, ...mark(name) }];
  });
  return [...own, ...goes.map((name) => ({ name, installed: true, ...mark(name) }))];
}

/**
 * What a later version is about to take away, and an earlier one found there and left alone: it comes back, too. What needs a
 * package of ours can't: that is to go. Where a version with fewer packages was not brought about in between, the prior knows of those
 * alone: what stands of the others is captured as if for the first time.
 */
export async function captureLater(
  { spec, prior }: { spec: WantedPackages; prior: WantedPackages },
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<PriorPackage[]> {
  const known = new Map(prior.before?.map((each) => [each.name, each]));
  const asked = namesOf(spec).filter((name) => !namesOf(prior).includes(name));
  const anew = asked.length > 0 ? await captureStates({ ...spec, name: asked }, provider, machine) : [];
  const found = await look(spec, provider, machine);
  const leaving = found.flatMap(({ work, state, wanted }) =>
    work === "remove" && state.version !== null ? [wanted.name] : [],
  );
  const ours = leaving.filter((name) => known.get(name)?.installed === false);
  const effects = await foretell(
    found.filter(({ wanted }) => !ours.includes(wanted.name)),
    provider,
    machine,
  );
  const removes = effects.removes;
  const withOurs =
    ours.length > 0 && removes.length > 0 ? ((await provider.foretellRemoval?.(ours, machine)) ?? []) : [];
  const captured = new Set(anew.map(({ name }) => name));
  const goes = [...leaving, ...removes.filter((name) => !withOurs.includes(name))].filter(
    (name) => !known.has(name) && !captured.has(name),
  );
  const more = anew.filter(({ name }) => !known.has(name));
  if (goes.length === 0) return more;
  const autos = new Set(await provider.dependencies?.(goes, machine));
  const stood = prior.others === undefined ? new Set(goes) : unpackNames(prior.others);
  const later = goes
    .filter((name) => stood.has(name) || !autos.has(name))
    .map((name) => ({ name, installed: true, ...(autos.has(name) && { auto: true }) }));
  return [...more, ...later];
}
