/** How a program becomes one of a user: its numbers, its groups and its environment, without a login session. */
import { realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { errnoOf, hostError, toHostError } from "./host-error.ts";
import type { HostCommand, HostCommandResult } from "./host.ts";
import type { LocalAccount } from "./local-users.ts";

/** What a program is started with. */
export interface StartAs {
  argv: HostCommand["argv"];
  env: Record<string, string>;
  /** For Node, where nothing else sets them. */
  ids: { uid?: number; gid?: number };
}

/** setpriv(1) of util-linux; the one of busybox sets no users. */
const setprivPaths = ["/usr/bin/setpriv", "/bin/setpriv"];

/** What the loader of programs and the resolver of names obey: not to be told to a program that still is root. */
const loaderVariables =
  /^(?:LD_\w*|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|HOSTALIASES|LOCALDOMAIN|LOCPATH|MALLOC_TRACE|NIS_PATH|NLSPATH|RESOLV_HOST_CONF|RES_OPTIONS|TZDIR)$/;

const withheldPrefix = "FLEETWRIGHT_LATER_";

/** What the user's shell that starts the program calls itself in its messages. */
const starter = "fleetwright-start";

/** The variables that su(1) sets. */
export function accountEnvironment({ name, home, shell }: LocalAccount): Record<string, string> {
  return { HOME: home, USER: name, LOGNAME: name, SHELL: shell === "" ? "/bin/sh" : shell };
}

/** The home of the agent's own user; the top of the machine where that is a number without an account, as in some containers. */
export function ownHome(): string {
  try {
    return userInfo().homedir;
  } catch {
    return "/";
  }
}

/**
 * How a program is started as a user. Node drops every supplementary group with the numbers that it sets, so setpriv(1) sets
 * them, with the groups that the machine's name service knows; where there is none the program has the user's first group alone.
 *
 * @throws {OrchestratorError} `HOST_ERROR` where the program is not there.
 */
export function startAs(account: LocalAccount, start: StartAs, cwd: string): StartAs {
  const { uid, gid } = account;
  const isRoot = process.getuid?.() === 0;
  const setpriv = isRoot ? setprivPaths.find(isSetpriv) : undefined;
  if (setpriv === undefined) return uid === process.getuid?.() ? start : { ...start, ids: { uid, gid } };
  const [program, ...args] = start.argv;
  if (!isThere(program, start.env["PATH"] ?? "", cwd)) throw hostError(program, "ENOENT");
  const { env, giveBack } = withhold(start.env);
  const ids = [`--reuid=${uid}`, `--regid=${gid}`, "--init-groups", "--inh-caps=-all"];
  // Until it starts something, setpriv may still go wherever root may: the user's own shell starts the program.
  const shell = ["/bin/sh", "-c", `${giveBack}exec "$@"`, starter];
  return { ...start, env, argv: [setpriv, ...ids, "--", ...shell, program, ...args] };
}

/** `HOST_ERROR` where the user may not run the program, which is no result of the program itself. */
export function requireStarted([program]: HostCommand["argv"], result: HostCommandResult): void {
  const { exitCode, stderr, truncated } = result;
  if (truncated.stderr) return;
  if (exitCode !== 126 && exitCode !== 127) return;
  if (stderr.startsWith(`${starter}: `)) throw hostError(program, "EACCES");
}

/** What setpriv must not obey comes under other names, and the user's shell gives it back. */
function withhold(all: Record<string, string>): { env: Record<string, string>; giveBack: string } {
  const names = Object.keys(all).filter((name) => loaderVariables.test(name));
  const env = Object.fromEntries(
    Object.entries(all).map(([name, value]) => [names.includes(name) ? withheldPrefix + name : name, value]),
  );
  const lines = names.map((name) => {
    const later = withheldPrefix + name;
    return `export ${name}="$${later}"; unset ${later}; `;
  });
  return { env, giveBack: lines.join("") };
}

function isThere(program: string, searchPath: string, cwd: string): boolean {
  const folders = program.includes("/") ? [cwd] : searchPath.split(":").map((folder) => folder || cwd);
  const paths = isAbsolute(program)
    ? [program]
    : folders.map((folder) => join(resolve(cwd, folder), program));
  return paths.some(isFile);
}

const leadsNowhere: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (error) {
    // Also below a file, or by links in a circle: another folder of the search path may have it.
    if (leadsNowhere.has(errnoOf(error))) return false;
    // Root itself may be kept from looking, as by a file server, where the user is not.
    if (errnoOf(error) === "EACCES") return true;
    throw toHostError(path, error);
  }
}

function isSetpriv(path: string): boolean {
  try {
    return !realpathSync(path).endsWith("/busybox");
  } catch {
    return false;
  }
}
