/** Whose a backup must be: as told, or the orchestrator whose key the profile has pinned for the server. */
import { OrchestratorError } from "fleetwright";
import type { BackupOrigin, BackupSummary } from "fleetwright";
import type { CommandCall } from "../call.ts";
import { UsageError } from "../failure.ts";
import { pinnedKey, readKey } from "../orchestrator-keys.ts";
import { readProfile, serverUrl } from "../profile.ts";
import { toLine } from "../text.ts";

/** Options that say whose a backup must be. */
export interface OriginOptions {
  orchestratorKey?: string;
  unsigned?: boolean;
}

/** What was told, or else what is pinned; null where neither says anything. */
export function originOf(call: CommandCall, options: OriginOptions = {}): BackupOrigin | null {
  if (options.unsigned === true) return { unsigned: true };
  const key = readKey(options.orchestratorKey) ?? pinned(call);
  return key === undefined ? null : { orchestratorKey: key };
}

/**
 * Has somebody at a terminal compare the key of a backup that was found whole. A backup brings its orchestrator's private key along, so
 * one that was made up is signed as well as a true one: only somebody who knows the key can tell.
 *
 * @throws {OrchestratorError} `BACKUP_UNSIGNED`.
 * @throws {UsageError} Where nobody is there to ask, or says no.
 */
export async function confirmOrigin(
  { context }: CommandCall,
  { orchestrator_key: key }: BackupSummary,
): Promise<BackupOrigin> {
  if (key === null) throw new OrchestratorError("BACKUP_UNSIGNED");
  const told = `The backup is whole and signed by the orchestrator key ${key}, which is not known here.`;
  if (context.isTerminal !== true)
    throw new UsageError(
      `${told} If it is the one that the server printed when it was started, give --orchestrator-key ${key}.`,
    );
  context.stderr(
    `${toLine(told)}\nCompare it with the key that the server printed when it was started. Is it the same? Type yes: `,
  );
  const answer = await (context.readLine?.() ?? context.readInput());
  if (answer.trim() !== "yes") throw new UsageError("Nothing was restored.");
  return { orchestratorKey: key };
}

function pinned({ context, options }: CommandCall): string | undefined {
  const profile = readProfile(context);
  return pinnedKey(profile, serverUrl(context, options.url, profile));
}
