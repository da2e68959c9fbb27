/** Settings of the server: flag over environment over file over default. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { OrchestratorError } from "fleetwright/errors";
import type { CommandContext } from "./context.ts";
import { logLevels } from "./log-level.ts";
import type { LogLevel } from "./log-level.ts";

/** Everything that the server can be told, with every default applied. */
export interface ServerSettings {
  host: string;
  port: number;
  /** Absolute. */
  dataDir: string;
  adminPublicKeys: string[];
  /** Certificate and key, PEM; null for plain HTTP. */
  tls: { cert: string; key: string } | null;
  trustedProxies: string[];
  operationRetentionDays: number;
  operationRetentionCount: number;
  /** 0 = none. */
  auditMinimumAgeDays: number;
  pendingAgents: number;
  pendingAgentRetentionDays: number;
  /** Null: any. */
  allowedHosts: string[] | null;
  logLevel: LogLevel;
  allowInsecure: boolean;
  /** Seconds between two drift checks of an agent; 0 = none by itself. */
  driftIntervalSeconds: number;
  driftConcurrency: number;
  rolloutConcurrency: number;
  signInsPerMinute: number;
  /** Null: no limit. */
  callsPerMinute: number | null;
}

/** Flags as given; what is absent comes from elsewhere. */
export interface ServerFlags {
  host?: string;
  port?: string;
  dataDir?: string;
  adminPublicKeys?: string;
  tlsCertFile?: string;
  tlsKeyFile?: string;
  trustedProxies?: string;
  operationRetentionDays?: string;
  operationRetentionCount?: string;
  auditMinimumAgeDays?: string;
  pendingAgents?: string;
  pendingAgentRetentionDays?: string;
  allowedHosts?: string;
  logLevel?: string;
  allowInsecure?: boolean;
  /** A flag alone: nobody should leave it in an environment. */
  acceptLoss?: boolean;
}

/**
 * Reads the settings. `FLEETWRIGHT_X` is the value, `FLEETWRIGHT_X_FILE` a file that holds it.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` for one that can't be read or makes no sense, by name.
 */
export function readSettings({ environment }: CommandContext, flags: ServerFlags): ServerSettings {
  const read = (name: string, flag?: string): string | undefined =>
    flag ?? environment[`FLEETWRIGHT_${name}`] ?? readIfNamed(environment[`FLEETWRIGHT_${name}_FILE`], name);
  const number = (name: string, flag: string | undefined, range: NumberRange): number =>
    toNumber(name, read(name, flag) ?? String(range.default), range);
  const cert = read("TLS_CERT", readIfNamed(flags.tlsCertFile, "TLS_CERT"));
  const key = read("TLS_KEY", readIfNamed(flags.tlsKeyFile, "TLS_KEY"));
  return {
    host: read("HOST", flags.host) ?? "127.0.0.1",
    port: toPort(read("PORT", flags.port) ?? "4748"),
    dataDir: resolve(read("DATA_DIR", flags.dataDir) ?? ".fleetwright"),
    adminPublicKeys: toList(read("ADMIN_PUBLIC_KEYS", flags.adminPublicKeys)),
    tls: toTls(cert, key),
    trustedProxies: toList(read("TRUSTED_PROXIES", flags.trustedProxies)),
    operationRetentionDays: number("OPERATION_RETENTION_DAYS", flags.operationRetentionDays, days(90)),
    operationRetentionCount: number("OPERATION_RETENTION_COUNT", flags.operationRetentionCount, {
      from: 1_000,
      to: 10_000_000,
      default: 100_000,
    }),
    auditMinimumAgeDays: number("AUDIT_MINIMUM_AGE_DAYS", flags.auditMinimumAgeDays, {
      from: 0,
      to: 3_650,
      default: 0,
    }),
    pendingAgents: number("PENDING_AGENTS", flags.pendingAgents, { from: 1, to: 100_000, default: 1_000 }),
    pendingAgentRetentionDays: number(
      "PENDING_AGENT_RETENTION_DAYS",
      flags.pendingAgentRetentionDays,
      days(7),
    ),
    signInsPerMinute: number("SIGN_INS_PER_MINUTE", undefined, { from: 1, to: 100_000, default: 30 }),
    callsPerMinute: number("CALLS_PER_MINUTE", undefined, { from: 0, to: 1_000_000, default: 0 }) || null,
    allowedHosts: toHosts(read("ALLOWED_HOSTS", flags.allowedHosts)),
    logLevel: toLogLevel(read("LOG_LEVEL", flags.logLevel) ?? "info"),
    allowInsecure: flags.allowInsecure ?? toBoolean(read("ALLOW_INSECURE") ?? "false"),
    driftIntervalSeconds: toDriftInterval(read("DRIFT_INTERVAL_SECONDS") ?? "3600"),
    driftConcurrency: number("DRIFT_CONCURRENCY", undefined, { from: 1, to: 1_000, default: 8 }),
    rolloutConcurrency: number("ROLLOUT_CONCURRENCY", undefined, { from: 1, to: 10_000, default: 500 }),
  };
}

function readIfNamed(path: string | undefined, name: string): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8").trim();
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    throw refused(name, `its file ${path} can't be read (${code})`);
  }
}

function toPort(text: string): number {
  return toNumber("PORT", text, { from: 0, to: 65_535 });
}

/** 0 switches checks off; an interval so short that checks would do little else is a mistake. */
function toDriftInterval(text: string): number {
  return text === "0" ? 0 : toNumber("DRIFT_INTERVAL_SECONDS", text, { from: 300, to: 2_592_000 });
}

/** What a number may be. */
interface NumberRange {
  from: number;
  to: number;
  default: number;
}

function days(standard: number): NumberRange {
  return { from: 1, to: 99_999, default: standard };
}

function toNumber(name: string, text: string, { from, to }: Omit<NumberRange, "default">): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < from || number > to)
    throw refused(name, `it must be a whole number from ${from} to ${to}`);
  return number;
}

function toList(text: string | undefined): string[] {
  return (text ?? "").split(/[\s,]+/).filter((part) => part !== "");
}

function toHosts(text: string | undefined): string[] | null {
  const hosts = toList(text);
  const wrong = hosts.find((host) => !/^[A-Za-z0-9._-]+$/.test(host));
  if (wrong !== undefined)
    throw refused("ALLOWED_HOSTS", `${JSON.stringify(wrong)} is no host name without a port`);
  return hosts.length === 0 ? null : hosts;
}

function toTls(cert: string | undefined, key: string | undefined): ServerSettings["tls"] {
  if (cert === undefined && key === undefined) return null;
  if (cert === undefined) throw refused("TLS_CERT", "it is needed beside FLEETWRIGHT_TLS_KEY");
  if (key === undefined) throw refused("TLS_KEY", "it is needed beside FLEETWRIGHT_TLS_CERT");
  return { cert, key };
}

function toLogLevel(text: string): LogLevel {
  const level = logLevels.find((known) => known === text);
  if (!level) throw refused("LOG_LEVEL", `it must be one of ${logLevels.join(", ")}`);
  return level;
}

function toBoolean(text: string): boolean {
  if (text !== "true" && text !== "false") throw refused("ALLOW_INSECURE", "it must be true or false");
  return text === "true";
}

function refused(name: string, reason: string): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", { message: `FLEETWRIGHT_${name}: ${reason}.` });
}
