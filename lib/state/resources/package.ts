/**
 * One package or several, by the machine's own package manager: apt, dnf, apk, pacman or brew.
 *
 * Owns whether they are there, their version and whether they are held. Never touches what they depend on, nor the
 * configuration that they leave behind unless "purged" asks for it. On removal only what was not there before goes, and
 * only where no other package needs it; what was there stays, at the version that it has by then.
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
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { ask } from "./shared/command.ts";
import { missing } from "./shared/missing.ts";
import { refuseConfined } from "./shared/platform.ts";
import { describeChange } from "./shared/describe.ts";
import { apkProvider } from "./package/apk.ts";
import { aptProvider } from "./package/apt.ts";
import { brewProvider } from "./package/brew.ts";
import { dnfProvider } from "./package/dnf.ts";
import { pacmanProvider } from "./package/pacman.ts";
import type { PackageMachine, PackageProvider } from "./package/provider.ts";
import {
  findDifferences,
  matchesVersion,
  type PackageDifference,
  toChanges,
  type WantedPackage,
} from "./package/wanted.ts";

/** In the order in which they are looked for: a machine's own before one that somebody added. */
const providers = {
  apt: aptProvider,
  dnf: dnfProvider,
  apk: apkProvider,
  pacman: pacmanProvider,
  brew: brewProvider,
} as const;

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
  /** What stood before, name by name; those that would be left as they are are not in it. */
  before: z
    .array(z.strictObject({ name: nameSchema, installed: z.boolean(), hold: z.boolean().optional() }))
    .optional(),
});

/** Properties of a `package`, and those of a captured one. */
export type PackageSpec = z.infer<typeof packagePriorSchema>;

export const packageResourceType = defineResourceType<PackageSpec>({
  type: "package",
  summary: "Packages of the machine's package manager.",
  schema: packageSchema,
  priorSchema: packagePriorSchema,
  checksWithPrograms: true,
  identity: (spec) => namesOf(spec).toSorted().join(" ").slice(0, 4096),
  async check(spec, host, signal) {
    const [provider, machine] = open(spec, { host, signal });
    const changes = toChanges(await look(spec, provider, machine), Array.isArray(spec.name));
    // Only who names an age is told about the index: else each machine would drift once a day.
    const asksForAge = spec.ensure === "latest" && spec.update_cache_seconds !== undefined;
    if (asksForAge && (await isStale(spec, provider, machine)))
      changes.unshift({ property: "index", before: "stale", after: "fresh" });
    return changes;
  },
  apply,
  // What it asks the package manager on its way says nothing of what was foreseen before.
  foresee() {},
  bringsBelow: () => "/",
  capture,
  describe: describeChange,
  action(changes) {
    const ensure = changes.filter((change) => change.property.startsWith("ensure"));
    if (ensure.some((change) => change.after === "present")) return "create";
    return ensure.length > 0 ? "remove" : "update";
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
  await removeAll(spec, found, provider, machine);
  await installAll(found, provider, machine);
  const holding = found.filter(({ wanted, work }) => wanted.hold === true && work !== "remove");
  if (holding.length > 0) await provider.setHeld?.(namesIn(holding), true, machine);
}

async function removeAll(
  spec: PackageSpec,
  found: readonly PackageDifference[],
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<void> {
  const removes = found.filter(({ work }) => work === "remove");
  if (removes.length === 0) return;
  const options = { purge: spec.ensure === "purged", alone: spec.before !== undefined };
  await provider.remove(namesIn(removes), options, machine);
}

async function installAll(
  found: readonly PackageDifference[],
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<void> {
  const installs = found.filter(({ work }) => work === "install");
  if (installs.length === 0) return;
  const requests = installs.map(({ wanted, state, candidate }) => ({
    name: wanted.name,
    version: wanted.version ?? (provider.choosesVersions ? (candidate ?? undefined) : undefined),
    installed: state.version !== null,
  }));
  await provider.install(requests, machine);
}

async function capture(spec: PackageSpec, host: Host, signal: AbortSignal): Promise<Prior | null> {
  const [provider, machine] = open(spec, { host, signal });
  const asked = namesOf(spec);
  const states = await provider.query(asked, machine);
  const before = asked.flatMap((name, index) => {
    const state = states[index];
    const installed = state !== undefined && state.version !== null;
    const hold = spec.hold === undefined || state === undefined ? {} : { hold: installed && state.held };
    const comesBack = installed && (spec.ensure === "absent" || spec.ensure === "purged");
    return installed && !comesBack && spec.hold === undefined ? [] : [{ name, installed, ...hold }];
  });
  if (before.length === 0) return null;
  const { name, provider: named } = spec;
  return { type: "package", spec: { name, ensure: "present", before, ...(named && { provider: named }) } };
}

/** What differs. Asks for the newest versions only where they are wanted. */
async function look(
  spec: PackageSpec,
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<PackageDifference[]> {
  const wanted = wantedOf(spec);
  const asked = wanted.map(({ name }) => name);
  const states = await provider.query(asked, machine);
  const candidates = spec.ensure === "latest" ? await provider.candidates(asked, machine) : [];
  return findDifferences(wanted, states, candidates);
}

function wantedOf(spec: PackageSpec): WantedPackage[] {
  const { ensure, version, hold } = spec;
  if (!spec.before) return namesOf(spec).map((name) => ({ name, ensure, version, hold }));
  return spec.before.map((each) => ({
    name: each.name,
    ensure: each.installed ? "present" : "absent",
    hold: each.hold,
  }));
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
  if (!machine.host.files.stat(indexFolder)) return true;
  const minutes = Math.ceil((spec.update_cache_seconds ?? defaultIndexSeconds) / 60);
  const argv = ["find", indexFolder, "-maxdepth", "0", "-mmin", `-${minutes}`] as const;
  return (await ask({ argv }, machine)).stdout === "";
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

function namesOf(spec: PackageSpec): readonly string[] {
  return typeof spec.name === "string" ? [spec.name] : spec.name;
}

function namesIn(differences: readonly PackageDifference[]): string[] {
  return differences.map(({ wanted }) => wanted.name);
}
