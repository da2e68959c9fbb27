/** The file that an installed agent is told its options by. */
import type { CommandContext } from "../context.ts";
import { parseEnvFile, type EnvEntry } from "../env-file.ts";
import { UsageError } from "../failure.ts";
import { logLevels, type LogLevel } from "../log-level.ts";
import { readText } from "../read-text.ts";
import type { AgentOptions } from "./agent-options.ts";
import { isServerUrl, isUdpPort } from "./agent-place.ts";

/** What may stand in the file. */
export type AgentConfig = Omit<AgentOptions, "token" | "config"> & { url?: string };

/** What the file says, and where. */
export interface ReadConfig {
  options: AgentConfig;
  /** For each option of it, the file, the line and the name, for who has to tell that it leads nowhere. */
  places: ReadonlyMap<keyof AgentConfig, string>;
}

type Reader = (value: string) => AgentConfig | null;

const text =
  (name: keyof AgentConfig, isGood = (value: string) => value !== ""): Reader =>
  (value) =>
    isGood(value) ? { [name]: value } : null;

/** 32 bytes in hex or base64. */
const isKey = (value: string): boolean => /^(?:[\dA-Fa-f]{64}|[\w+/-]{43}=?)$/.test(value);

const flag =
  (name: "commands" | "terminals"): Reader =>
  (value) =>
    value === "true" || value === "false" ? { [name]: value === "true" } : null;

/** Each name with how its value is read and what it may be. A token is not among them: this file may be read by everybody. */
const readers: ReadonlyMap<string, readonly [read: Reader, is: string]> = new Map([
  ["url", [text("url", isServerUrl), "a ws, wss, http or https address"]],
  ["discover", [readDiscover, "true, false or a UDP port, 1 to 65535"]],
  ["orchestrator_key", [text("orchestratorKey", isKey), "a key: 32 bytes in hex or base64"]],
  ["token_file", [text("tokenFile"), "a file"]],
  ["ca_file", [text("caFile"), "a file"]],
  ["state_dir", [text("stateDir"), "a folder"]],
  ["root", [text("root"), "a folder"]],
  ["commands", [flag("commands"), "true or false"]],
  ["terminals", [flag("terminals"), "true or false"]],
  ["terminal_user", [text("terminalUser"), "a user"]],
  [
    "terminal_shell",
    [text("terminalShell", (value) => value.startsWith("/")), "the absolute path of a program"],
  ],
  ["log_level", [readLogLevel, logLevels.join(", ")]],
]);

/**
 * Reads the file: a line for each option, as `orchestrator_key = 2ecf...`.
 *
 * @throws {UsageError} With every fault of it, by its line, and without what stands there: it may be a token in the wrong place.
 */
export async function readAgentConfig(
  context: Pick<CommandContext, "readInput">,
  file: string,
): Promise<ReadConfig> {
  const content = await readText(context, file);
  const faults: string[] = [];
  const options: AgentConfig = {};
  const places = new Map<keyof AgentConfig, string>();
  const seen = new Set<string>();
  for (const entry of entriesOf(content, file)) {
    const found = readEntry(entry, seen);
    if (typeof found === "string") {
      faults.push(`line ${entry.line}${found}`);
      continue;
    }
    if (isSecondWay(found, options))
      faults.push(`line ${entry.line}: url and discover are two ways to the same end; give one`);
    Object.assign(options, found);
    for (const name of Object.keys(found) as (keyof AgentConfig)[])
      places.set(name, `${file}: line ${entry.line}: ${entry.name}`);
  }
  if (faults.length > 0) throw new UsageError(`${file}: ${faults.join("; ")}.`);
  return { options, places };
}

function isSecondWay(found: AgentConfig, before: AgentConfig): boolean {
  const { url, discover = false } = { ...before, ...found };
  return (found.url ?? found.discover) !== undefined && url !== undefined && discover !== false;
}

function entriesOf(content: string, file: string): EnvEntry[] {
  try {
    return parseEnvFile(content);
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
}

/** What a line says, or what is wrong with it, to be put behind its number. */
function readEntry({ name, value }: EnvEntry, seen: Set<string>): AgentConfig | string {
  const reader = readers.get(name);
  if (reader === undefined) return ` has a name that is none; they are ${[...readers.keys()].join(", ")}`;
  if (seen.has(name)) return ` says ${name} again`;
  seen.add(name);
  const [read, is] = reader;
  return read(value) ?? `: ${name} is ${is}`;
}

function readDiscover(value: string): AgentConfig | null {
  if (value === "true" || value === "false") return { discover: value === "true" };
  return isUdpPort(value) ? { discover: value } : null;
}

function readLogLevel(value: string): AgentConfig | null {
  const level = logLevels.find((each) => each === value) as LogLevel | undefined;
  return level === undefined ? null : { logLevel: level };
}
