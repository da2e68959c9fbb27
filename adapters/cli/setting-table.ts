/**
 * The settings of the server: its own, and every option of the orchestrator that is a plain value. Variable and flag follow from the
 * name: `sessionIdleSeconds` is `FLEETWRIGHT_SESSION_IDLE_SECONDS` and `--session-idle-seconds`.
 */
import { handshakeOptionTable, oneOf, orchestratorOptionTable, plainText } from "fleetwright/options";
import type { SettingRow } from "fleetwright/options";
import {
  installOptions,
  listenAppOptions,
  ownMetricsOptions,
  proxyOptions,
  reachOptions,
  stopOptions,
} from "../h3/option-table.ts";
import { logLevels } from "./log-level.ts";

const { adminPublicKeys, ...orchestratorRows } = orchestratorOptionTable;

/** Every setting by its name, in the order of the documentation. */
export const settingTable = {
  host: listenAppOptions.host,
  port: { ...listenAppOptions.port, default: 4748 },
  dataDir: {
    text: "Data folder, used by one process at a time",
    rule: plainText({ pattern: /./ }),
    default: ".fleetwright",
    defaultText: "`./.fleetwright`",
  },
  adminPublicKeys,
  tls: {
    text: "Makes and renews a certificate automatically",
    rule: oneOf(["self-signed"]),
    defaultText: "plain HTTP",
  },
  tlsCert: { text: "Certificate, PEM", rule: plainText(), defaultText: "plain HTTP" },
  tlsKey: { text: "Private key of the certificate, PEM", rule: plainText(), defaultText: "plain HTTP" },
  secretsKey: {
    text: "Key that encrypts secrets, 64 hex digits or base64; while changing it, the new one before the old one",
    rule: plainText(),
    defaultText: "`secrets.key` of the data folder, created at the first start",
  },
  secretsKeyCommand: {
    text: "Shell command that prints that key, so a vault or a KMS can hold it",
    rule: plainText({ pattern: /./ }),
    defaultText: "`secrets.key` of the data folder",
  },
  allowInsecure: listenAppOptions.allowInsecure,
  ...reachOptions,
  ...proxyOptions,
  ...handshakeOptionTable,
  ...stopOptions,
  ...ownMetricsOptions,
  ...installOptions,
  readyFile: {
    text: "Empty file that exists from the moment the server answers until it has stopped, also while `/readyz` says 503",
    rule: plainText({ pattern: /./ }),
    note: "Its folder must exist, and nothing else be there. What a killed server left goes once the next has opened its data.",
    defaultText: "none",
  },
  logLevel: { text: "How much is logged", rule: oneOf(logLevels), default: "info" },
  ...orchestratorRows,
} satisfies Record<string, SettingRow>;

/** One of {@link settingTable}. */
export type SettingName = keyof typeof settingTable;

/** Settings whose flag names a file, so that no secret stands in a list of processes. */
const inFiles = ["tlsCert", "tlsKey", "metricsToken", "secretsKey"] as const;

/** What commander calls the value of a flag. */
export type FlagName = Exclude<SettingName, (typeof inFiles)[number]> | `${(typeof inFiles)[number]}File`;

/** How a setting is given. */
export interface SettingPlaces {
  /** e.g. `FLEETWRIGHT_DATA_DIR`; with `_FILE` behind it, it names a file. */
  variable: string;
  /** e.g. `--data-dir`. */
  flag: string;
  /** e.g. `dataDir`. */
  flagName: FlagName;
  /** Whether the flag names a file that holds the value. */
  isInFile: boolean;
}

/** Where a setting is read from. */
export function placesOf(name: SettingName): SettingPlaces {
  const isInFile = (inFiles as readonly string[]).includes(name);
  const flagName = (isInFile ? `${name}File` : name) as FlagName;
  return {
    variable: `FLEETWRIGHT_${toWords(name).join("_").toUpperCase()}`,
    flag: `--${toWords(flagName).join("-")}`,
    flagName,
    isInFile,
  };
}

/** Each setting with its name, in order. */
export function settings(): [SettingName, SettingRow][] {
  return Object.entries(settingTable) as [SettingName, SettingRow][];
}

/** What a setting is, in one phrase: with what may be given, without its default. */
export function describeSetting(
  row: SettingRow,
  given: string = row.rule.rangeOfText ?? row.rule.range,
): string {
  const { text, note } = row;
  const range = given.replaceAll(/(?<=\d),(?=\d{3})/g, "");
  const phrase = [text.replace(/^[A-Z](?=[a-z]+(?:[ ,]|$))/, (first) => first.toLowerCase()), range];
  const more = note === undefined ? "" : `. ${aboutSettings(note).replace(/\.$/, "")}`;
  return phrase.filter((part) => part !== "").join(", ") + more;
}

/** The default of a setting as text, in backquotes where it could be given so. */
export function defaultOf({ default: value, defaultText }: SettingRow): string {
  return defaultText ?? `\`${String(value)}\``;
}

/** A text about options of a program as one about settings. */
export function aboutSettings(text: string): string {
  return text.replaceAll(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g, (name) =>
    Object.hasOwn(settingTable, name) ? placesOf(name as SettingName).variable : name,
  );
}

function toWords(name: string): string[] {
  return name.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
}
