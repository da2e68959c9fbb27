/** Which orchestrator's key the user's profile has for a server: pinned at the first sign-in, as ssh does with the keys of hosts. */
import type { ClientOptions } from "../client/client.ts";
import { toHexKey } from "../client/hex.ts";
import { parsedUrl } from "../client/http.ts";
import type { CommandContext } from "./context.ts";
import { UsageError } from "./failure.ts";
import { readProfile, type Profile } from "./profile.ts";
import { toLine, toLines } from "./text.ts";

/** What a client is told about the key of its server, and the key that counts after a sign-in. */
export interface KeyPin {
  options: Pick<ClientOptions, "orchestratorKey" | "onOrchestratorKey">;
  /** Puts the key into a profile; the profile as it is where there is nothing new. */
  keep(profile: Profile): Profile;
}

/**
 * Prepares to sign in to a server.
 *
 * @param given - Key that takes the place of the pinned one.
 */
export function pinKey(
  context: CommandContext,
  server: { url: string; profile: Profile | null },
  given?: string,
): KeyPin {
  const { url, profile } = server;
  const known = given ?? pinnedKey(profile, url);
  let key = known;
  return {
    options: {
      ...(known !== undefined && { orchestratorKey: known }),
      onOrchestratorKey(proved) {
        key = proved;
        context.stderr(
          toLines([
            `The orchestrator at ${toLine(url)} proved the key ${proved}, which is not known here yet.`,
            "It is pinned when the sign-in is done: compare it with the key that the server printed when it was started.",
          ]),
        );
      },
    },
    keep(before) {
      // As they are now: another command may have pinned the key of another server meanwhile.
      const pinned = readProfile(context)?.orchestrator_keys ?? before.orchestrator_keys;
      if (key === undefined) return pinned ? { ...before, orchestrator_keys: pinned } : before;
      return { ...before, orchestrator_keys: { ...pinned, [nameOf(url)]: key } };
    },
  };
}

/** The key (hex) that the profile has for a server. */
export function pinnedKey(profile: Profile | null, url: string): string | undefined {
  return profile?.orchestrator_keys?.[nameOf(url)];
}

/**
 * Reads the value of `--orchestrator-key`.
 *
 * @throws {UsageError} Where it is no key.
 */
export function readKey(given: string | undefined): string | undefined {
  const key = given === undefined ? undefined : toHexKey(given);
  if (key === null) throw new UsageError("--orchestrator-key must be 32 bytes, as 64 hex digits or base64.");
  return key;
}

/** One name for all ways to write an address. */
function nameOf(url: string): string {
  return parsedUrl(url)?.href.replace(/\/+$/, "") ?? url;
}
