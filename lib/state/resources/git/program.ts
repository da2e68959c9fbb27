/** Running git: without hooks, prompts and the transports that run programs, and with no password on a command line or on disk. */
import type { HostCommand, HostCommandResult } from "../../../host/host.ts";
import { withoutCredentials } from "../../../internal/url-text.ts";
import { isOrchestratorError, OrchestratorError } from "../../../errors.ts";
import { ask, type Machine } from "../shared/command.ts";

/** A clone, or the place of one, and where it comes from. */
export interface GitPlace {
  path: string;
  repository?: string | undefined;
  user?: string | undefined;
}

const settings = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "protocol.ext.allow=never",
  "init.defaultBranch=main",
  "advice.detachedHead=false",
  // What goes on in the background would outlive the run.
  "gc.autoDetach=false",
  "maintenance.autoDetach=false",
].flatMap((setting) => ["-c", setting]);

/** Output is only ever read here, so nobody is told of it. */
const readOnly = { maxOutputBytes: 4 * 1024 * 1024, onOutput: () => {} };

/**
 * Runs git in a clone. `COMMAND_FAILED` where it ends with a code that is not among `codes`. Default: 0 alone.
 */
export function runInClone(
  place: GitPlace,
  args: readonly string[],
  machine: Machine & { codes?: readonly number[] },
): Promise<HostCommandResult> {
  return run(place, ["-C", relativeToRoot(place.path), ...args], machine);
}

/** Runs git outside of any clone. */
export function runOutside(
  place: GitPlace,
  args: readonly string[],
  machine: Machine,
): Promise<HostCommandResult> {
  return run(place, args, machine);
}

/** A path for a program that begins in the root folder of the host, which need not be that of the machine. */
export function relativeToRoot(path: string): string {
  return `.${path}`;
}

/** The address as it stands on disk and on command lines. */
export function storedAddress(repository: string): string {
  return withoutCredentials(repository);
}

async function run(
  { repository, user }: GitPlace,
  args: readonly string[],
  { codes, ...machine }: Machine & { codes?: readonly number[] },
): Promise<HostCommandResult> {
  const command: HostCommand = {
    argv: ["git", ...settings, ...args],
    environment: { GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", ...credentials(repository) },
    ...(user !== undefined && { user }),
    ...readOnly,
  };
  try {
    return await ask(command, { ...machine, staysInRoot: true }, codes);
  } catch (error) {
    if (!isOrchestratorError(error, "COMMAND_FAILED")) throw error;
    const { details, cause } = error;
    throw new OrchestratorError("COMMAND_FAILED", {
      message: withoutCredentials(error.message),
      details,
      cause,
    });
  }
}

/** Lets git put user and password into the address by itself: an environment is read by nobody else. */
function credentials(repository = ""): Record<string, string> {
  const stored = storedAddress(repository);
  if (stored === repository) return {};
  return {
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: `url.${repository}.insteadOf`,
    GIT_CONFIG_VALUE_0: stored,
  };
}
