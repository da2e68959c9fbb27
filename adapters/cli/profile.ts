/** What the command line remembers between two runs, in the folder of its user: which server, which keys, which session. */
import { existsSync, readdirSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { OrchestratorError } from "fleetwright/errors";
import { faultOfUrl, parsedUrl } from "../client/http.ts";
import { codeOf } from "../client/system-error.ts";
import { makeFolders } from "../sync/make-folders.ts";
import type { CommandContext } from "./context.ts";
import { UsageError } from "./failure.ts";
import { didYouMean } from "./find-id.ts";
import { readOwnFile, replacePrivateFile } from "./private-file.ts";

/** One user's sign-in. */
export interface Profile {
  url: string;
  /** Path of the key file. */
  key: string;
  /** Secret; absent after signing out. */
  token?: string;
  /** Keys of orchestrators (hex) by the address of the server: nobody else is signed in to there. */
  orchestrator_keys?: Readonly<Record<string, string>>;
}

/** Where a server is unless somebody says otherwise. */
const defaultUrl = "http://127.0.0.1:4748";

/** Where the server is: as given, by the environment, that of the last sign-in, or the default. */
export function serverUrl(
  { environment }: CommandContext,
  given: string | undefined,
  profile: Profile | null,
): string {
  const url = given ?? setIn(environment, "FLEETWRIGHT_URL") ?? profile?.url ?? defaultUrl;
  // Without http:// a name is taken for the scheme of an address, and "can't be reached" would say nothing of that.
  if (!/^https?:\/\//i.test(url) || parsedUrl(url) === null)
    throw new UsageError(
      `${JSON.stringify(url)} is no address of a server, such as https://fleet.example.com.`,
    );
  const fault = faultOfUrl(url);
  if (fault !== null) throw new UsageError(fault);
  return url;
}

/** A variable of the environment. One that is empty is none: a script that fills it in from something that is missing means no folder and no server. */
export function setIn(environment: CommandContext["environment"], name: string): string | undefined {
  const value = environment[name];
  return value === "" ? undefined : value;
}

/**
 * The folder of the user: `FLEETWRIGHT_HOME`, or `fleetwright` in `XDG_CONFIG_HOME` or `~/.config`.
 *
 * @param homeOf - The home of the user where `HOME` says none.
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` for a user who has no home.
 */
export function homeFolder({ environment }: CommandContext, homeOf = homeOfUser): string {
  const given = setIn(environment, "FLEETWRIGHT_HOME");
  if (given !== undefined) return given;
  const home = setIn(environment, "HOME");
  const config = setIn(environment, "XDG_CONFIG_HOME");
  // Its specification has a relative one passed over.
  if (config === undefined || !isAbsolute(config)) return ownFolder(join(home ?? homeOf(), ".config"));
  const obeyed = ownFolder(config);
  if (existsSync(obeyed)) return obeyed;
  const ownHome = home ?? homeIfAny(homeOf);
  const known = ownHome === null ? obeyed : ownFolder(join(ownHome, ".config"));
  // Who signed in before that variable was obeyed, or set, stays signed in.
  return existsSync(known) ? known : obeyed;
}

function ownFolder(config: string): string {
  return join(config, "fleetwright");
}

/** As the system knows it. */
function homeOfUser(): string {
  try {
    return userInfo().homedir;
  } catch (cause) {
    const message = "This user has no home folder: name a folder for keys and profiles in FLEETWRIGHT_HOME.";
    throw new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
  }
}

/** For whom another folder will do. */
function homeIfAny(homeOf: () => string): string | null {
  try {
    return homeOf();
  } catch {
    return null;
  }
}

/** Where the user's own key lies. */
export function keyPath(context: CommandContext): string {
  return join(homeFolder(context), "key");
}

/**
 * Reads the profile; null where nobody has signed in yet.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where the file is damaged.
 */
export function readProfile(context: CommandContext): Profile | null {
  const path = profilePath(context);
  let text: string;
  try {
    text = readOwnFile(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw unreadable(path, error);
  }
  try {
    const { url, key, token, orchestrator_keys } = JSON.parse(text) as Partial<Profile>;
    if (typeof url !== "string" || typeof key !== "string") throw new TypeError("url and key are missing");
    // A pin that can't be read must not become none.
    if (orchestrator_keys !== undefined && !areKeys(orchestrator_keys)) throw new TypeError("no such keys");
    return {
      url,
      key,
      ...(typeof token === "string" && { token }),
      ...(orchestrator_keys && { orchestrator_keys }),
    };
  } catch (error) {
    throw damaged(path, error);
  }
}

/**
 * Writes the profile, readable by its owner only.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where it can't be written; it is as it was then.
 */
export function writeProfile(context: CommandContext, profile: Profile): void {
  writePrivate(profilePath(context), `${JSON.stringify(profile, null, 2)}\n`);
}

function writePrivate(path: string, text: string): void {
  makePrivateFolder(dirname(path));
  // Two commands may write at the same time.
  written(path, () => replacePrivateFile(path, text, `${path}.${process.pid}`));
}

/**
 * Makes a folder that only its owner can look into, and those above it.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where there can be none.
 */
export function makePrivateFolder(path: string): void {
  written(path, () => makeFolders(path, 0o700));
}

function written(path: string, write: () => void): void {
  try {
    write();
  } catch (cause) {
    const message = `${path} can't be written (${codeOf(cause)}); FLEETWRIGHT_HOME names another folder for keys and profiles.`;
    throw new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
  }
}

function areKeys(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((key) => typeof key === "string" && /^[0-9a-f]{64}$/.test(key));
}

/** The profile that is used where none is named: the only one until there are others. */
export const usualProfile = "default";

/**
 * Which profile counts: as given (`--profile`, `FLEETWRIGHT_PROFILE`), the one that `fleetwright use` named, or the usual one.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` for a name that can't be one.
 */
export function profileName(context: CommandContext): string {
  return requireProfileName(
    setIn(context.environment, "FLEETWRIGHT_PROFILE") ?? readUsed(context) ?? usualProfile,
  );
}

/**
 * The name of a profile as it was typed.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` for one that can't be one.
 */
export function requireProfileName(name: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)) return name;
  const message = `${JSON.stringify(name)} can't be the name of a profile: 1-64 letters, digits, ".", "_" and "-".`;
  throw new OrchestratorError("CONFIGURATION_INVALID", { message });
}

/** Every profile there is, and the usual one. */
export function profileNames(context: CommandContext): string[] {
  const folder = join(homeFolder(context), "profiles");
  const files = existsSync(folder) ? readdirSync(folder) : [];
  return [usualProfile, ...files.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5))];
}

/**
 * For who named a profile that is not there, and no server: the usual one would be asked in its place.
 *
 * @throws {UsageError}
 */
export function requireNamed(context: CommandContext): void {
  const name = profileName(context);
  if (name === usualProfile || setIn(context.environment, "FLEETWRIGHT_URL") !== undefined) return;
  const hint = didYouMean(name, profileNames(context));
  throw new UsageError(
    `There is no profile ${name}.${hint} \`fleetwright login --url URL --profile ${name}\` makes it.`,
  );
}

/** Makes a profile the one that is used from now on. */
export function useProfile(context: CommandContext, name: string): void {
  writePrivate(usedPath(context), `${name}\n`);
}

function readUsed(context: CommandContext): string | undefined {
  try {
    return readOwnFile(usedPath(context)).trim();
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw unreadable(usedPath(context), error);
  }
}

function usedPath(context: CommandContext): string {
  return join(homeFolder(context), "used-profile");
}

function profilePath(context: CommandContext): string {
  const name = profileName(context);
  const home = homeFolder(context);
  return name === usualProfile ? join(home, "profile.json") : join(home, "profiles", `${name}.json`);
}

function damaged(path: string, cause: unknown): OrchestratorError {
  const message = `${path} is damaged; \`fleetwright login\` writes it anew once it is gone.`;
  return new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
}

function unreadable(path: string, cause: unknown): OrchestratorError {
  const message = `${path} can't be read (${codeOf(cause)}).`;
  return new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
}
