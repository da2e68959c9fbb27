/** Packages that several resources name, in lists that are not the same: each stays as it is declared for as long as it is. */
import { OrchestratorError } from "../../../errors.ts";
import { type JsonObject, toJsonObject } from "../../../json.ts";
import type { PartHeir } from "../../resource-type.ts";
import { type DeclaredPackages, namesOf, type WantedPackages } from "./look.ts";
import { bareName, packNames, unpackNames } from "./prior.ts";
import type { SideEffects } from "./provider.ts";

interface SharedPackages extends WantedPackages {
  provider?: string | undefined;
}

type Before = NonNullable<WantedPackages["before"]>[number];

/** Whether two resources can't both be so. */
export function contradicts(one: WantedPackages, other: WantedPackages): boolean {
  if (isThere(one) !== isThere(other)) return true;
  const differ = <T>(a: T | undefined, b: T | undefined): boolean =>
    a !== undefined && b !== undefined && a !== b;
  const isPinnedAndLatest = (a: WantedPackages, b: WantedPackages): boolean =>
    a.version !== undefined && b.ensure === "latest";
  if (isPinnedAndLatest(one, other) || isPinnedAndLatest(other, one)) return true;
  return differ(one.version, other.version) || differ(one.hold, other.hold);
}

/** What stood before a resource that shares packages with one that went: of two that noted it, the older one knew. */
export function inherit(
  left: SharedPackages,
  { spec, prior, isOlder, isAwaited }: PartHeir<SharedPackages>,
): JsonObject | null {
  const own = new Set(namesOf(spec));
  const shared = (left.before ?? []).filter(({ name }) => own.has(name));
  if (shared.length === 0) return null;
  const [later, earlier] = isOlder ? [shared, prior?.before ?? []] : [prior?.before ?? [], shared];
  const before = new Map<string, Before>();
  for (const each of [...later, ...earlier]) before.set(each.name, { ...before.get(each.name), ...each });
  const { provider } = prior ?? spec;
  const name = isAwaited ? [...before.keys()] : (prior ?? spec).name;
  const others = common(prior?.others, left.others);
  return toJsonObject({ name, ensure: "present", before: [...before.values()], provider, others });
}

/** What was there before either; absent where nobody noted it. */
function common(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const known = unpackNames(other);
  return packNames([...unpackNames(one)].filter((name) => known.has(name)));
}

/** `RESOURCE_CONFLICT` where what another resource wants would go for the sake of this one. */
export function refuseTaking(
  { removes }: Pick<SideEffects, "removes">,
  declared: DeclaredPackages | undefined,
): void {
  for (const name of removes) {
    const claims = declared?.get(name) ?? declared?.get(bareName(name)) ?? [];
    const claim = claims.find(({ spec }) => isThere(spec));
    if (!claim) continue;
    throw new OrchestratorError("RESOURCE_CONFLICT", {
      message: `Package ${name} would go for it, and ${claim.key} wants it there.`,
      details: { package: name, resource: claim.key },
    });
  }
}

function isThere({ ensure }: WantedPackages): boolean {
  return ensure === "present" || ensure === "latest";
}
