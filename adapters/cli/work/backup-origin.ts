/** Whose a backup must be: as told, or the orchestrator whose key the profile has pinned for the server. */
import { OrchestratorError } from "fleetwright";
import type { BackupOrigin, BackupSummary } from "fleetwright";
import { askerOf, confirm } from "../ask.ts";
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

/**
 * Whose a file must be: as told, or of the server that `--url` names; null where neither says anything. Which server the last login was
 * at says nothing about a file.
 */
export function originOf(call: CommandCall, options: OriginOptions): BackupOrigin | null {
  if (options.unsigned === true) {
    if (call.options.url === undefined || originOfServer(call) === null) return { unsigned: true };
    throw new UsageError(
      "The orchestrator key of that server is pinned, and a backup without a signature is nobody's: give --unsigned without --url.",
    );
  }
  const key = readKey(options.orchestratorKey);
  if (key === undefined) return call.options.url === undefined ? null : originOfServer(call);
  return { orchestratorKey: key };
}

/** Whose a backup of the server that is called must be; null where its key is not pinned. */
export function originOfServer({ context, options }: CommandCall): BackupOrigin | null {
  const profile = readProfile(context);
  const key = pinnedKey(profile, serverUrl(context, options.url, profile));
  return key === undefined ? null : { orchestratorKey: key };
}

/**
 * Has somebody at a terminal compare the key of a backup that was found whole. A backup brings its orchestrator's private key along, so
 * one that was made up is signed as well as a true one: only somebody who knows the key can tell.
 *
 * @throws {OrchestratorError} `BACKUP_UNSIGNED`.
 * @throws {UsageError} Where nobody can be asked.
 * @throws {Declined}
 */
export async function confirmOrigin(
  call: CommandCall,
  { orchestrator_key: key }: BackupSummary,
): Promise<BackupOrigin> {
  if (key === null) throw new OrchestratorError("BACKUP_UNSIGNED");
  const servers = Object.entries(readProfile(call.context)?.orchestrator_keys ?? {}).filter(
    ([, pin]) => pin === key,
  );
  const known = servers.map(([url]) => url).join(", ");
  const told = `The backup is whole and signed by the orchestrator key ${key}, which is ${known === "" ? "not known here" : `pinned for ${known}`}.`;
  const ask = askerOf(call, false);
  if (ask === null)
    throw new UsageError(
      `${told} If that is the orchestrator to be restored, give --orchestrator-key ${key}.`,
    );
  await confirm(ask, {
    told: [toLine(told), "Compare it with the key that the server printed when it was started."],
    question: "Is that the orchestrator to restore?",
    otherwise: "Nothing was restored.",
  });
  return { orchestratorKey: key };
}
