/** Settings of the server: flag over environment over file over default. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { OrchestratorOptions } from "fleetwright";
import { OrchestratorError } from "fleetwright/errors";
import { didYouMean } from "fleetwright/options";
import type { orchestratorOptionTable, SettingRow } from "fleetwright/options";
import { codeOf } from "../client/system-error.ts";
import { serverFaultsTogether } from "../h3/option-table.ts";
import type { CommandContext } from "./context.ts";
import type { LogLevel } from "./log-level.ts";
import { aboutSettings, placesOf, settings } from "./setting-table.ts";
import type { FlagName, SettingName } from "./setting-table.ts";
import type { GivenPart } from "./work/tls/certificate-source.ts";

/** Where the certificate of the server comes from. */
export type TlsSettings = { kind: "given"; cert: GivenPart; key: GivenPart } | { kind: "self-signed" };

/** Everything that the server can be told. */
export interface ServerSettings {
  host: string;
  port: number;
  /** Absolute. */
  dataDir: string;
  /** Null for plain HTTP. */
  tls: TlsSettings | null;
  allowInsecure: boolean;
  trustedProxies: string[];
  proxyProtocol: boolean;
  /** Null: any. */
  allowedHosts: string[] | null;
  logLevel: LogLevel;
  maxHandshakes: number;
  maxHandshakesPerAddress: number;
  drainSeconds: number;
  metricsPort: number;
  /** Null: none. */
  metricsToken: string | null;
  /** Null: beside this program. */
  agentDir: string | null;
  /** Null: none. */
  readyFile: string | null;
  /** The key for secrets and the program that prints it; null: not given. */
  secretsKey: string | null;
  secretsKeyCommand: string | null;
  /** Those that were given; what is not has the default of the orchestrator. */
  orchestrator: Pick<OrchestratorOptions, keyof typeof orchestratorOptionTable>;
}

/** Flags as given; what is absent comes from elsewhere. */
export type ServerFlags = { [Name in Exclude<FlagName, "allowInsecure" | "proxyProtocol">]?: string } & {
  allowInsecure?: boolean;
  proxyProtocol?: boolean;
  /** A flag alone: nobody should leave it in an environment. */
  acceptLoss?: boolean;
};

/** A text that was given, and what the message about it begins with. */
interface GivenText extends GivenPart {
  place: string;
}

/**
 * Reads the settings. `FLEETWRIGHT_X` is the value, `FLEETWRIGHT_X_FILE` a file that holds it.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` for those that can't be read or make no sense, all of them, each by the name of its flag
 * or variable.
 */
export function readSettings(context: CommandContext, flags: ServerFlags): ServerSettings {
  const faults: string[] = [];
  const given: Partial<Record<SettingName, unknown>> = {};
  const places = new Map<string, string>();
  const files = new Map<string, string | null>();
  for (const [name, { rule }] of settings()) {
    const found = findText(name, { context, flags, faults });
    if (found === null) continue;
    const value = rule.fromText(found.text);
    // What a program calls null is 0 in a text.
    const wrong = rule.faultsOf(value).map(({ message }) => message.replace("null or", "0 or"));
    faults.push(...wrong.map((message) => `${found.place}: it ${message}`));
    if (wrong.length === 0) given[name] = value;
    places.set(name, found.place);
    files.set(name, found.file);
  }
  for (const { path, message } of serverFaultsTogether(given))
    faults.push(`${places.get(String(path[0]))}: it ${aboutSettings(message)}`);
  faults.push(...tlsFaults(places));
  if (faults.length > 0)
    throw new OrchestratorError("CONFIGURATION_INVALID", { message: `${faults.join("; ")}.` });
  return { ...toServerSettings(given), tls: tlsOf(given, files) };
}

/**
 * Variables that look like a setting and are none, each with a guess at what was meant.
 *
 * @param context - Whose environment is looked at.
 */
export function unknownVariables({ environment }: CommandContext): { variable: string; hint: string }[] {
  const known = settings().flatMap(([name]) => {
    const { variable } = placesOf(name);
    return [variable, `${variable}_FILE`];
  });
  const all = new Set([...known, ...ofClients]);
  return Object.keys(environment)
    .filter((variable) => variable.startsWith("FLEETWRIGHT_") && !all.has(variable))
    .map((variable) => ({ variable, hint: `It is no setting${didYouMean(variable, all)}` }));
}

/** Variables of the other commands. */
const ofClients = ["HOME", "PROFILE", "URL", "ENROLMENT_TOKEN"].map((name) => `FLEETWRIGHT_${name}`);

function findText(
  name: SettingName,
  { context, flags, faults }: { context: CommandContext; flags: ServerFlags; faults: string[] },
): GivenText | null {
  const { environment } = context;
  const { variable, flag, flagName, isInFile } = placesOf(name);
  const inFile = (path: string, place: string): GivenText | null => {
    try {
      return { text: readFileSync(path, "utf8").trim(), place, file: resolve(path) };
    } catch (cause) {
      faults.push(`${place}: its file ${path} can't be read (${codeOf(cause)})`);
      return null;
    }
  };
  const ofFlag = flags[flagName];
  if (ofFlag !== undefined)
    return isInFile ? inFile(String(ofFlag), flag) : { text: String(ofFlag), place: flag, file: null };
  const text = environment[variable];
  if (text !== undefined) return { text, place: variable, file: null };
  const path = environment[`${variable}_FILE`];
  return path === undefined ? null : inFile(path, `${variable}_FILE`);
}

/** A certificate and its key are given together, and neither where the server makes its own. */
function tlsFaults(places: ReadonlyMap<string, string>): string[] {
  const names = ["tlsCert", "tlsKey"] as const;
  const there = names.find((name) => places.has(name));
  const own = places.get("tls");
  if (there === undefined) return [];
  if (own !== undefined) return [`${own}: it is one of two with ${places.get(there)}: give one`];
  const missing = names.find((name) => !places.has(name));
  return missing === undefined
    ? []
    : [`${placesOf(missing).variable}: it is needed beside ${places.get(there)}`];
}

function tlsOf(
  { tls, tlsCert, tlsKey }: Partial<Record<SettingName, unknown>>,
  files: ReadonlyMap<string, string | null>,
): TlsSettings | null {
  if (tls !== undefined) return { kind: "self-signed" };
  if (tlsCert === undefined) return null;
  const part = (name: SettingName, text: unknown): GivenPart => ({
    text: String(text),
    file: files.get(name) ?? null,
  });
  return { kind: "given", cert: part("tlsCert", tlsCert), key: part("tlsKey", tlsKey) };
}

function toServerSettings(given: Partial<Record<SettingName, unknown>>): Omit<ServerSettings, "tls"> {
  const withDefaults = Object.fromEntries(
    settings().map(([name, row]: [SettingName, SettingRow]) => [name, given[name] ?? row.default]),
  );
  const { host, port, dataDir, allowInsecure, trustedProxies, allowedHosts } = withDefaults as Record<
    SettingName,
    never
  >;
  const { proxyProtocol, maxHandshakes, maxHandshakesPerAddress, drainSeconds, logLevel } =
    withDefaults as Record<SettingName, never>;
  const { metricsPort, metricsToken, agentDir, readyFile, secretsKey, secretsKeyCommand } =
    withDefaults as Record<SettingName, never>;
  const own = new Set<string>(ofServer);
  const hosts: string[] = allowedHosts ?? [];
  return {
    host,
    port,
    dataDir: resolve(dataDir),
    allowInsecure,
    trustedProxies: trustedProxies ?? [],
    proxyProtocol,
    allowedHosts: hosts.length === 0 ? null : hosts,
    logLevel,
    maxHandshakes,
    maxHandshakesPerAddress,
    drainSeconds,
    metricsPort,
    metricsToken: metricsToken ?? null,
    agentDir: agentDir === undefined ? null : resolve(agentDir),
    readyFile: readyFile === undefined ? null : resolve(readyFile),
    secretsKey: secretsKey ?? null,
    secretsKeyCommand: secretsKeyCommand ?? null,
    orchestrator: Object.fromEntries(Object.entries(given).filter(([name]) => !own.has(name))),
  };
}

/** What is not for the orchestrator. */
const ofServer = [
  "host",
  "port",
  "dataDir",
  "tls",
  "tlsCert",
  "tlsKey",
  "allowInsecure",
  "trustedProxies",
  "proxyProtocol",
  "allowedHosts",
  "maxHandshakes",
  "maxHandshakesPerAddress",
  "drainSeconds",
  "metricsPort",
  "metricsToken",
  "agentDir",
  "readyFile",
  "secretsKey",
  "secretsKeyCommand",
  "logLevel",
] as const satisfies SettingName[];
