/** What a package manager would do beside what was asked for: told by a check, and refused by an apply that it was not told of. */
import { OrchestratorError } from "../../../errors.ts";
import type { Change } from "../../result.ts";
import type { PackageMachine, PackageProvider, PackageRequest, SideEffects } from "./provider.ts";
import type { PackageDifference } from "./wanted.ts";

/** What a package manager that can't tell is taken to do to others. */
export const nothing: SideEffects = { removes: [], downgrades: [] };

/** What is to be installed, as the package manager is asked for it. */
export function requestsFor(
  found: readonly PackageDifference[],
  { choosesVersions }: PackageProvider,
): PackageRequest[] {
  return found
    .filter(({ work }) => work === "install")
    .map(({ wanted, state, candidate }) => ({
      name: wanted.name,
      version: wanted.version ?? (choosesVersions ? (candidate ?? undefined) : undefined),
      installed: state.version !== null,
    }));
}

/** What would happen to other packages, as far as the package manager can tell: some can't before the index was fetched. */
export async function foretell(
  found: readonly PackageDifference[],
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<SideEffects> {
  const removes = found.filter(({ work }) => work === "remove").map(({ wanted }) => wanted.name);
  const requests = requestsFor(found, provider);
  const along =
    removes.length > 0 && provider.foretellRemoval ? await provider.foretellRemoval(removes, machine) : [];
  const installing =
    (requests.length > 0 && (await provider.foretellInstall?.(requests, machine))) || nothing;
  const own = new Set(removes);
  const displaced = installing.removes.filter((name) => !own.has(name));
  return { removes: [...new Set([...along, ...displaced])], downgrades: installing.downgrades };
}

/** Side effects as changes: each says whose it is. */
export function toSideChanges({ removes, downgrades }: SideEffects): Change[] {
  return [
    ...removes.map((name) => ({ property: `ensure[${name}]`, before: "present", after: "absent" })),
    ...downgrades.map(({ name, before, after }) => ({ property: `version[${name}]`, before, after })),
  ];
}

/** `HOST_ERROR` for a side effect that is not among the changes that were told. */
export function refuseUntold(effects: SideEffects, told: readonly Change[]): void {
  const known = new Set(told.map(({ property, after }) => `${property} ${String(after)}`));
  const untold = toSideChanges(effects).filter(
    ({ property, after }) => !known.has(`${property} ${String(after)}`),
  );
  if (untold.length === 0) return;
  const names = untold.map(({ property }) => property.replace(/^\w+\[(.*)\]$/, "$1")).slice(0, 10);
  throw new OrchestratorError("HOST_ERROR", {
    message: `Other packages would go or become older, which no check told of: ${names.join(", ")}. The index was not known then; now it is.`,
    details: { packages: names },
  });
}
