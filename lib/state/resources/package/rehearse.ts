/** Whether a package manager would install what a plan says: it is asked, and changes nothing. */
import type { OrchestratorError } from "../../../errors.ts";
import type { ForeseenMachine } from "../../resource-type.ts";
import { requestsFor } from "./foretell.ts";
import { noPackage, type PackageMachine, type PackageProvider, type PackageRequest } from "./provider.ts";
import type { PackageDifference } from "./wanted.ts";

/**
 * Refuses on a foreseen machine what the package manager would refuse, in its own words. Where an index is old the apply fetches
 * it first, so nobody can know yet.
 */
export async function rehearseInstall(
  found: readonly PackageDifference[],
  provider: PackageProvider,
  {
    machine,
    isStale,
  }: { machine: PackageMachine & { host: ForeseenMachine }; isStale: () => Promise<boolean> },
): Promise<void> {
  const requests = requestsFor(found, provider);
  if (requests.length === 0) return;
  const refusal = provider.rehearseInstall
    ? await provider.rehearseInstall(requests, machine)
    : await refusalByIndex(requests, provider, machine);
  if (refusal === null) return;
  const { host } = machine;
  if (provider.indexFolder === undefined || (await isStale()))
    host.cannotTell(`The apply brings the package index up to date first. By now: ${refusal.message}`);
  host.refusalRestsOn(["/", ...provider.sourcePlaces]);
  throw refusal;
}

/** Of those that can't rehearse: what the index knows no version of can't be installed. */
async function refusalByIndex(
  requests: readonly PackageRequest[],
  provider: PackageProvider,
  machine: PackageMachine,
): Promise<OrchestratorError | null> {
  const names = requests.map(({ name }) => name);
  const candidates = await provider.candidates(names, machine);
  const unknown = names.filter((_name, at) => (candidates[at] ?? null) === null);
  return unknown.length === 0 ? null : noPackage(unknown);
}
