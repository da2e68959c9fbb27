/** Compares a folder on the disk with a server. */
import { planFleetFolder, readFleetFolder } from "fleetwright";
import type { FleetFolder, FolderPlan } from "fleetwright";
import type { Client } from "../client/client.ts";
import { readFolder } from "./read-folder.ts";
import { readServer } from "./server-things.ts";

/** How a plan is made. */
export interface PlanFolderOptions {
  takeOver: boolean;
  prune: boolean;
  allowEmpty: boolean;
}

/** Reads a folder with every fault of its files; {@link planFolder} finds those beside a server, too. */
export async function checkFolder(folder: string): Promise<FleetFolder> {
  const { files, faults } = await readFolder(folder);
  const read = readFleetFolder(files);
  return { ...read, faults: [...faults, ...read.faults] };
}

/**
 * Plans what makes a server as a folder says. Where the server can't be asked, the faults of the folder are told all the same.
 *
 * @throws {FolderError} Where the folder can't be read.
 * @throws {ApiError}
 */
export async function planFolder(
  client: Client,
  folder: string,
  asked: PlanFolderOptions,
): Promise<FolderPlan & { label: string | null }> {
  const read = await checkFolder(folder);
  const { label } = read;
  try {
    const { operator } = await client.auth.session();
    const assignments = read.things.filter(({ kind }) => kind === "assignments");
    // A Viewer sees no more of one than lists show.
    const wanted = operator.role === "Viewer" ? [] : assignments;
    const present = await readServer(client, new Set(wanted.map(({ name }) => name)));
    const operatorId = operator.operator_id;
    const options = { ...asked, operatorId, nowMs: Date.now() };
    return { label, ...planFleetFolder(read, present, options) };
  } catch (error) {
    if (read.faults.length === 0) throw error;
    return { label, steps: [], removals: [], unmanaged: [], faults: read.faults };
  }
}
