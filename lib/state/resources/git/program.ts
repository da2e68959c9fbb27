/** Running git: without hooks, prompts and the transports that run programs, and with no password on a command line or on disk. */
import { isOrchestratorError, OrchestratorError } from "../../../errors.ts";
import type { HostCommand, HostCommandResult } from "../../../host/host.ts";
import { startOf } from "../../../internal/canonical-json.ts";
import { withoutCredentials } from "../../../internal/url-text.ts";
import { act, ask, type Machine } from "../shared/command.ts";

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

/** A line for each file of a large repository. */
const maxOutputBytes = 64 * 1024 * 1024;

/**
 * Asks git about a clone. `COMMAND_FAILED` where it ends with a code that is not among `codes`. Default: 0 alone.
 */
export function askInClone(
  place: GitPlace,
  args: readonly string[],
  { codes, ...machine }: Machine & { codes?: readonly number[] },
): Promise<HostCommandResult> {
  const command = { ...commandFor(place, args), cwd: place.path };
  return withoutPasswords(ask(command, { ...machine, staysInRoot: true }, codes));
}

/** Asks git about what is elsewhere. */
export function askOutside(
  place: GitPlace,
  args: readonly string[],
  machine: Machine,
): Promise<HostCommandResult> {
  return withoutPasswords(ask(commandFor(place, args), { ...machine, staysInRoot: true }));
}

/** Lets git change a clone. It is told to be quiet, and what it says of a failure may hold the address with its password. */
export function changeClone(
  place: GitPlace,
  args: readonly string[],
  machine: Machine,
): Promise<HostCommandResult> {
  const command = { ...commandFor(place, args), cwd: place.path };
  return withoutPasswords(act({ ...command, onOutput: () => {} }, { ...machine, staysInRoot: true }));
}

/** Whether a text names one commit and no other, whatever happens. */
export function isWholeHash(text: string): boolean {
  return /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/.test(text);
}

/** Whether a commit is in the clone. */
export async function hasCommit(place: GitPlace, commit: string, machine: Machine): Promise<boolean> {
  const args = ["cat-file", "-e", `${commit}^{commit}`];
  return (await askInClone(place, args, { ...machine, codes: [0, 1, 128] })).exitCode === 0;
}

/** The commit that is checked out; null where there is none. */
export function headOf(place: GitPlace, machine: Machine): Promise<string | null> {
  return askOrNull(place, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], machine);
}

/**
 * The commit that is checked out, asked for together with where git's own folder is: as git puts it, `.git` for a clone at the path, as it
 * looks in the folders above too.
 */
export async function whereAndHead(
  place: GitPlace,
  machine: Machine,
): Promise<{ gitFolder: string; head: string | null }> {
  const where = ["rev-parse", "--git-dir"];
  const asked = await askInClone(place, [...where, "HEAD^{commit}"], { ...machine, codes: [0, 128] });
  const [gitFolder = "", commit = ""] = asked.stdout.split("\n");
  if (asked.exitCode === 0 && isWholeHash(commit)) return { gitFolder, head: commit };
  // Asked for one thing at a time, it says what of it is not there, and what else is wrong.
  const { stdout } = await askInClone(place, where, machine);
  return { gitFolder: stdout.trim(), head: await headOf(place, machine) };
}

/** What the configuration of a clone says, by key, of those that it has; the last value of a key that is there again. */
export async function settingsOf(
  place: GitPlace,
  keys: readonly string[],
  machine: Machine,
): Promise<ReadonlyMap<string, string>> {
  const patterns = keys.map((key) => key.replaceAll(".", String.raw`\.`));
  const args = ["config", "--null", "--get-regexp", `^(${patterns.join("|")})$`];
  const { stdout } = await askInClone(place, args, { ...machine, codes: [0, 1] });
  const entries = stdout.matchAll(/([^\n\0]+)(?:\n([^\0]*))?\0/g);
  return new Map(Array.from(entries, ([, key = "", value = ""]) => [key, value.trim()]));
}

/** What git says; null where it ends with 1. */
export async function askOrNull(
  place: GitPlace,
  args: readonly string[],
  machine: Machine,
): Promise<string | null> {
  const { exitCode, stdout } = await askInClone(place, args, { ...machine, codes: [0, 1] });
  return exitCode === 0 ? stdout.trim() : null;
}

/** What git says of a file that it could not write or take away; a filter of the repository may say anything else. */
const unwritten =
  /^(?:error: (?:unable to (?:create (?:file|symlink)|write file|read sha1 file|stat|unlink)|cannot create|unknown file mode|.* is a directory$)|warning: unable to unlink)/;

/** Lets git write files. Where it can't write one, as on a full disk, it goes on with the others and ends with 0 all the same. */
export async function writeFiles(place: GitPlace, args: readonly string[], machine: Machine): Promise<void> {
  const { stderr } = await changeClone(place, args, machine);
  const line = stderr.split("\n").find((each) => unwritten.test(each));
  if (line === undefined) return;
  const message = `git left files unwritten: ${withoutCredentials(startOf(line, 300))}.`;
  const details = { program: "git", exit_code: 0, signal: null };
  throw new OrchestratorError("COMMAND_FAILED", { message, details });
}

/** The address as it stands on disk and on command lines. */
export function storedAddress(repository: string): string {
  return withoutCredentials(repository);
}

/** git as it is always run: with our settings, as the user whose clone it is. */
export function commandFor({ repository, user }: GitPlace, args: readonly string[]): HostCommand {
  return {
    argv: ["git", ...settings, ...args],
    environment: { GIT_TERMINAL_PROMPT: "0", GIT_OPTIONAL_LOCKS: "0", ...credentials(repository) },
    ...(user !== undefined && { user }),
    maxOutputBytes,
  };
}

async function withoutPasswords(running: Promise<HostCommandResult>): Promise<HostCommandResult> {
  try {
    return await running;
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
