/**
 * One package or several, by the machine's own package manager: apt, dnf, apk, pacman or brew.
 *
 * Owns whether they are there, their version and whether they are held. Never touches the configuration that they leave
 * behind unless "purged" asks for it, and takes no other package away that its check did not tell of. On removal only what
 * was not there before goes, with the dependencies that came along, and only where no other package needs it; what was
 * there stays, at the version that it has by then.
 *
 * @example
 * ```yaml
 * - { type: package, name: nginx, version: "1.22.1-*", hold: true }
 * - { id: tools, type: package, name: [curl, jq, rsync] }
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { apkProvider } from "./package/apk.ts";
import { aptProvider } from "./package/apt.ts";
import { brewProvider } from "./package/brew.ts";
import { dnfProvider } from "./package/dnf.ts";
import { foretell, nothing, refuseUntold, requestsFor, toSideChanges } from "./package/foretell.ts";
import { captureLater, captureStates, type DeclaredPackages, look, namesOf } from "./package/look.ts";
import { pacmanProvider } from "./package/pacman.ts";
import { addHolds, packNames, priorPackageSchema } from "./package/prior.ts";
import {
  isOlder,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
  type SideEffects,
} from "./package/provider.ts";
import { rehearseInstall } from "./package/rehearse.ts";
import { contradicts, inherit, refuseTaking } from "./package/sharing.ts";
import { matchesVersion, type PackageDifference, toChanges } from "./package/wanted.ts";
import { describeChange } from "./shared/describe.ts";
import { missing } from "./shared/obstacle.ts";
import { refuseConfined } from "./shared/platform.ts";

/** In the order in which they are looked for: a machine's own before one that somebody added. */
const providers = {
  apt: aptProvider,
  dnf: dnfProvider,
  apk: apkProvider,
  pacman: pacmanProvider,
  brew: brewProvider,
} as const;

const allSourcePlaces = Object.values(providers).flatMap(({ sourcePlaces }) => sourcePlaces);

const names = ["apt", "dnf", "apk", "pacman", "brew"] as const;

/** How old the index may be before something is fetched by it. */
const defaultIndexSeconds = 86_400;

const nameSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9+._:@/-]{0,127}$/, "must be the name of a package");

const properties = z.strictObject({
  /** A name, or a list: then the resource is all of them. */
  name: z.union([nameSchema, z.array(nameSchema).min(1).max(200)]),
  /** "latest" upgrades whenever the index knows a newer one; "purged" takes away the configuration too. */
  ensure: z.enum(["present", "latest", "absent", "purged"]).default("present"),
  /** As the package manager writes it, or its beginning with `*` after it. An older one replaces a newer one. */
  version: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9.+~:_-]{0,127}\*?$/, "must be a version, perhaps with * at its end")
    .optional(),
  /** Keeps the package manager from upgrading or removing it. Default: left as it is. */
  hold: z.boolean().optional(),
  /** Default: the one that the machine has. */
  provider: z.enum(names).optional(),
  /** Age of the package index above which it is fetched before something is installed. Default: 86,400. */
  update_cache_seconds: z.number().int().min(0).max(31_536_000).optional(),
});

export const packageSchema = properties
  .refine(
    (spec) => spec.version === undefined || (spec.ensure === "present" && typeof spec.name === "string"),
    {
      path: ["version"],
      message: "is for one package that is to be present",
    },
  )
  .refine((spec) => spec.hold !== true || spec.ensure === "present" || spec.ensure === "latest", {
    path: ["hold"],
    message: "is for a package that is there",
  })
  .refine((spec) => typeof spec.name === "string" || new Set(spec.name).size === spec.name.length, {
    path: ["name"],
    message: "must not name a package twice",
  });

const packagePriorSchema = properties.extend({
  /** Without those that would be left as they are. */
  before: z.array(priorPackageSchema.extend({ name: nameSchema })).optional(),
  /** Names of all that was there, in one text: what else came along with ours goes with it. */
  others: z.string().optional(),
});

/** Properties of a `package`, and those of a captured one. */
export type PackageSpec = z.infer<typeof packagePriorSchema> & {
  /** Who else declares which packages. */
  declared?: DeclaredPackages;
};

export const packageResourceType = defineResourceType<PackageSpec>({
  type: "package",
  summary: "Packages of the machine's package manager.",
  schema: packageSchema,
  checksWithPrograms: true,
  identity: (spec) => namesOf(spec).toSorted().join(" ").slice(0, 4096),
  async check(spec, host, signal) {
    const [provider, machine] = open(spec, { host, signal });
    const found = await look(spec, provider, machine);
    const changes = toChanges(found, typeof spec.name === "string" ? spec.name : null);
    changes.push(...toSideChanges(await effectsOf(spec, found, provider, machine)));
    // Only who names an age is told about the index: else each machine would drift once a day.
    const asksForAge = spec.ensure === "latest" && spec.update_cache_seconds !== undefined;
    if (asksForAge && (await isStale(spec, provider, machine)))
      changes.unshift({ property: "index", before: "stale", after: "fresh" });
    return changes;
  },
  apply,
  capture,
  describe: describeChange,
  action(changes) {
    const ensure = changes.filter((change) => change.property.startsWith("ensure"));
    if (ensure.some((change) => change.after === "present")) return "create";
    return ensure.length > 0 ? "remove" : "update";
  },
  planning: {
    async foresee(spec, _changes, host, signal) {
      const [provider, machine] = open(spec, { host, signal });
      const found = await look(spec, provider, machine);
      const asking = { machine: { ...machine, host }, isStale: () => isStale(spec, provider, machine) };
      await rehearseInstall(found, provider, asking);
    },
    unknownAfterApply: () => "/",
    // Another source may have a newer version.
    restsOn: (spec) => (spec.ensure === "latest" ? allSourcePlaces : []),
  },
  removing: { priorSchema: packagePriorSchema, extendPrior },
  sharing: {
    parts: namesOf,
    contradicts,
    withDeclaredParts: ({ before, ...spec }, declared) => ({
      ...spec,
      declared,
      ...(before && { before: before.filter(({ name }) => !declared.has(name)) }),
    }),
    inherit,
  },
});

async function apply(
  spec: PackageSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const [provider, machine] = open(spec, { host, signal });
  const indexAlone = changes.some(({ property }) => property === "index");
  let found = await look(spec, provider, machine);
  if (await needsIndex(spec, provider, machine, { found, indexAlone })) {
    await provider.refresh(machine);
    found = await look(spec, provider, machine);
  }
  const letGo = found.filter(({ wanted, work, state }) => {
    // A held package can't be changed, not even by who holds it.
    return state.held && (wanted.hold === false || (wanted.hold === true && work !== null));
  });
  if (letGo.length > 0) await provider.setHeld?.(namesIn(letGo), false, machine);
  try {
    await changeAll(spec, { found, told: changes }, provider, machine);
  } catch (error) {
    const again = letGo.filter(({ wanted }) => wanted.hold === true);
    if (again.length > 0) await provider.setHeld?.(namesIn(again), true, machine).catch(() => undefined);
    throw error;
  }
  const holding = found.filter(({ wanted, work }) => wanted.hold === true && work !== "remove");
  if (holding.length > 0) await provider.setHeld?.(namesIn(holding), true, machine);
  const marking = found.filter(({ auto }) => auto);
  if (marking.length > 0) await provider.markDependencies?.(namesIn(marking), machine);
}

async function changeAll(
  spec: PackageSpec,
  { found, told }: { found: readonly PackageDifference[]; told: readonly Change[] },
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<void> {
  const effects = await effectsOf(spec, found, provider, machine);
  refuseUntold(effects, told);
  const removes = found.filter(({ work }) => work === "remove");
  const options = { purge: spec.ensure === "purged", alone: spec.before !== undefined };
  if (removes.length > 0) await provider.remove(namesIn(removes), options, machine);
  const requests = requestsFor(found, provider);
  const mayRemove = effects.removes.length > 0;
  if (requests.length > 0)
    await provider.install(requests, machine, { mayRemove, exact: spec.before !== undefined });
}

/** What would happen to other packages; refused where another resource wants what would go. */
async function effectsOf(
  spec: PackageSpec,
  found: readonly PackageDifference[],
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<SideEffects> {
  // A removal of ours never takes others along: it fails.
  if (spec.before && !found.some(({ work }) => work === "install")) return nothing;
  const effects = await foretell(found, provider, machine);
  refuseTaking(effects, spec.declared);
  return effects;
}

async function capture(spec: PackageSpec, host: Host, signal: AbortSignal): Promise<Prior> {
  const [provider, machine] = open(spec, { host, signal });
  const before = await captureStates(spec, provider, machine);
  const brings = provider.unused !== undefined && before.some(({ installed }) => !installed);
  const there = brings ? await provider.installedNames?.(machine) : undefined;
  const { name, provider: named } = spec;
  const prior = { name, ensure: "present", before, provider: named, others: there && packNames(there) };
  return { type: "package", spec: toJsonObject(prior) };
}

async function extendPrior(first: Prior, spec: PackageSpec, host: Host, signal: AbortSignal): Promise<Prior> {
  const known = packagePriorSchema.parse(first.spec);
  const [provider, machine] = open(spec, { host, signal });
  const more = known.before ? await captureLater({ spec, prior: known }, provider, machine) : [];
  const before = [...(known.before ?? []), ...more];
  const isMore = more.length > 0 || namesOf(known).length < namesOf(spec).length;
  const prior = isMore ? { ...first, spec: toJsonObject({ ...first.spec, name: spec.name, before }) } : first;
  const held = new Set(before.flatMap(({ name, hold }) => (hold === undefined ? [] : [name])));
  const asked = namesOf(spec).filter((name) => !held.has(name));
  if (spec.hold === undefined || asked.length === 0) return prior;
  const states = await provider.query(asked, machine);
  const found = new Map(asked.map((name, index) => [name, states[index] ?? notInstalled]));
  return { ...prior, spec: { ...prior.spec, before: addHolds(before, found) } };
}

/** Whether the index must be fetched first: something is to be installed, and it is old or does not know of it. */
async function needsIndex(
  spec: PackageSpec,
  provider: PackageProvider,
  machine: PackageMachine,
  { found, indexAlone }: { found: readonly PackageDifference[]; indexAlone: boolean },
): Promise<boolean> {
  const installs = found.filter(({ work }) => work === "install");
  if (installs.length === 0 && !indexAlone) return false;
  if (await isStale(spec, provider, machine)) return true;
  if (installs.length === 0) return false;
  const candidates = await provider.candidates(namesIn(installs), machine);
  return installs.some(({ wanted: { version } }, index) => {
    const candidate = candidates[index] ?? null;
    return candidate === null || (version !== undefined && !matchesVersion(version, candidate));
  });
}

async function isStale(
  spec: PackageSpec,
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<boolean> {
  const { indexFolder } = provider;
  if (indexFolder === undefined) return false;
  return isOlder(indexFolder, spec.update_cache_seconds ?? defaultIndexSeconds, machine);
}

/** The package manager to use, and its program. */
function open(
  spec: PackageSpec,
  { host, signal }: { host: Host; signal: AbortSignal },
): [PackageProvider, PackageMachine] {
  refuseConfined(host, "package");
  for (const name of spec.provider ? [spec.provider] : names) {
    const provider: PackageProvider = providers[name];
    const program = provider.programs.find((path) => host.files.stat(path) !== null);
    if (program === undefined) continue;
    if (spec.version !== undefined && !provider.choosesVersions)
      throw unable(name, "can't install a chosen version");
    if (spec.hold !== undefined && !provider.setHeld) throw unable(name, "can't hold packages");
    return [provider, { host, signal, program }];
  }
  const wanted = spec.provider ?? names.join(", ");
  throw missing(`${wanted} is not on this machine.`, { provider: wanted });
}

function unable(provider: string, why: string): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", { message: `${provider} ${why}.`, details: { provider } });
}

function namesIn(differences: readonly PackageDifference[]): string[] {
  return differences.map(({ wanted }) => wanted.name);
}
