import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryStorage, MemoryTransport } from "fleetwright";
import { processContext } from "../../../adapters/cli/process-context.ts";
import { placesOf, settings, type SettingName } from "../../../adapters/cli/setting-table.ts";
import { readSettings, type ServerFlags, unknownVariables } from "../../../adapters/cli/settings.ts";
import { orchestratorOptionTable } from "../../../lib/option-table.ts";
import { resolveOptions } from "../../../lib/options.ts";
import { runIn } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function read(environment: Record<string, string>, flags: ServerFlags = {}) {
  return readSettings({ ...processContext, environment }, flags);
}

/** Two values of each setting as texts, and what they mean. */
const values: Record<SettingName, [text: string, value: unknown, otherText: string, other: unknown]> = {
  host: ["::1", "::1", "localhost", "localhost"],
  port: ["0", 0, "65535", 65_535],
  dataDir: ["/a", "/a", "b", resolve("b")],
  adminPublicKeys: ["ab,cd", ["ab", "cd"], "ef", ["ef"]],
  tls: ["self-signed", "self-signed", "self-signed", "self-signed"],
  tlsCert: ["CERT", "CERT", "CERT 2", "CERT 2"],
  tlsKey: ["KEY", "KEY", "KEY 2", "KEY 2"],
  secretsKey: ["KEY", "KEY", "KEY 2", "KEY 2"],
  agentDir: ["/a", "/a", "b", resolve("b")],
  readyFile: ["/run/ready", "/run/ready", "/run/other", "/run/other"],
  secretsKeyCommand: ["vault read x", "vault read x", "y", "y"],
  allowInsecure: ["true", true, "false", false],
  trustedProxies: ["10.0.0.0/8, ::1\n", ["10.0.0.0/8", "::1"], "::1", ["::1"]],
  proxyProtocol: ["true", true, "false", false],
  allowedHosts: ["fleet.test, fleet", ["fleet.test", "fleet"], "::1", ["::1"]],
  maxHandshakes: ["1", 1, "1000000", 1_000_000],
  maxHandshakesPerAddress: ["1", 1, "1000000", 1_000_000],
  drainSeconds: ["0", 0, "3600", 3_600],
  metricsPort: ["0", 0, "65535", 65_535],
  metricsToken: ["a-token-of-16-chars", "a-token-of-16-chars", "another-of-16-chars", "another-of-16-chars"],
  logLevel: ["debug", "debug", "silent", "silent"],
  serviceName: ["Flotte Süd", "Flotte Süd", "x", "x"],
  sessionIdleSeconds: ["60", 60, "43200", 43_200],
  sessionMaxSeconds: ["3600", 3_600, "604800", 604_800],
  challengeSeconds: ["5", 5, "600", 600],
  signInsPerMinute: ["1", 1, "100000", 100_000],
  callsPerMinute: ["0", null, "1000000", 1_000_000],
  pendingAgents: ["1", 1, "100000", 100_000],
  pendingAgentRetentionDays: ["1", 1, "99999", 99_999],
  agentOfflineSeconds: ["10", 10, "604800", 604_800],
  agentUrl: ["wss://a.test/agent/v1", "wss://a.test/agent/v1", "ws://b", "ws://b"],
  discoveryPort: ["1", 1, "65535", 65_535],
  operationTimeoutSeconds: ["1", 1, "86400", 86_400],
  operationGraceSeconds: ["0", 0, "86400", 86_400],
  operationRetentionDays: ["1", 1, "99999", 99_999],
  operationRetentionCount: ["1000", 1_000, "10000000", 10_000_000],
  terminalSessions: ["1", 1, "10000", 10_000],
  terminalIdleSeconds: ["10", 10, "86400", 86_400],
  terminalMaxSeconds: ["60", 60, "604800", 604_800],
  terminalRetentionDays: ["1", 1, "99999", 99_999],
  eventRetentionHours: ["1", 1, "8760", 8_760],
  eventRetentionCount: ["1000", 1_000, "10000000", 10_000_000],
  auditMinimumAgeDays: ["0", 0, "3650", 3_650],
  secretExpiryWarningDays: ["0", 0, "365", 365],
  metricsIntervalSeconds: ["1", 1, "3600", 3_600],
  notificationRetentionDays: ["1", 1, "99999", 99_999],
  channelNetworks: ["10.0.0.0/8, ::1", ["10.0.0.0/8", "::1"], "fd00::/8", ["fd00::/8"]],
  rolloutConcurrency: ["1", 1, "10000", 10_000],
  driftIntervalSeconds: ["0", 0, "300", 300],
  driftConcurrency: ["1", 1, "1000", 1_000],
};

/** One setting out of all of them, wherever it went. */
function settingOf(name: SettingName, environment: Record<string, string>, flags: ServerFlags = {}): unknown {
  const beside =
    name.startsWith("tls") && name !== "tls"
      ? { FLEETWRIGHT_TLS_CERT: "CERT", FLEETWRIGHT_TLS_KEY: "KEY" }
      : name === "proxyProtocol"
        ? { FLEETWRIGHT_TRUSTED_PROXIES: "::1" }
        : {};
  const { tls: certificate, orchestrator, ...own } = read({ ...beside, ...environment }, flags);
  const given = certificate?.kind === "given" ? certificate : null;
  const tls = { tls: certificate?.kind, tlsCert: given?.cert.text, tlsKey: given?.key.text };
  return { ...own, ...orchestrator, ...tls }[name];
}

describe("every setting of the server", () => {
  const rows = Object.entries(values) as [SettingName, (typeof values)[SettingName]][];

  it.each(rows)(
    "%s comes from a flag over the environment over a file",
    (name, [text, value, otherText, other]) => {
      const { variable, flagName, isInFile } = placesOf(name);
      const inFile = (content: string): string => {
        const path = join(temporaryFolder(), "value");
        writeFileSync(path, `${content}\n`);
        return path;
      };
      const file = { [`${variable}_FILE`]: inFile(text) };
      expect(settingOf(name, file)).toEqual(value);
      expect(settingOf(name, { ...file, [variable]: otherText })).toEqual(other);
      // The flag of what is true or false can only say true.
      const flags = {
        [flagName]: value === true ? true : isInFile ? inFile(text) : text,
      } as ServerFlags;
      expect(settingOf(name, { ...file, [variable]: otherText }, flags)).toEqual(value);
    },
  );

  it("has values above", () => {
    expect(rows.map(([name]) => name).toSorted()).toEqual(
      settings()
        .map(([name]) => name)
        .toSorted(),
    );
  });

  it("that is an option of the orchestrator can be told to the server, and arrives there", () => {
    for (const name of Object.keys(orchestratorOptionTable) as (keyof typeof orchestratorOptionTable)[]) {
      const [text, value] = values[name];
      const { orchestrator } = read({ [placesOf(name).variable]: text });
      expect(orchestrator).toEqual({ [name]: value });
      const parts = { storage: new MemoryStorage(), transport: new MemoryTransport() };
      expect(resolveOptions({ ...parts, ...orchestrator })[name]).toEqual(value);
    }
  });

  it("is in the help, with its range and default", async () => {
    const { stdout } = await runIn(temporaryFolder(), ["serve", "--help"], "http://127.0.0.1:1");
    for (const [name] of settings()) expect(stdout).toContain(`${placesOf(name).flag} `);
    const help = stdout.replaceAll(/\s+/g, " ");
    expect(help).toContain(
      "--session-idle-seconds <seconds> seconds without a call after which a session ends, 60 to 86400. " +
        "Not more than FLEETWRIGHT_SESSION_MAX_SECONDS; default 3600",
    );
    expect(help).toContain(
      "--calls-per-minute <number> calls a minute in one session before RATE_LIMITED, 1 to 1000000; 0: no limit",
    );
    expect(help).toContain(
      "--tls-key-file <file> file with the private key of the certificate, PEM; default plain HTTP",
    );
    expect(help).toContain('--log-level <level> how much is logged; default info (choices: "debug",');
  });
});

describe("settings of the server", () => {
  it("have defaults, and what is not given is left to the orchestrator", () => {
    expect(read({})).toEqual({
      host: "127.0.0.1",
      port: 4748,
      dataDir: resolve(".fleetwright"),
      tls: null,
      trustedProxies: [],
      allowedHosts: null,
      proxyProtocol: false,
      maxHandshakes: 256,
      maxHandshakesPerAddress: 64,
      drainSeconds: 0,
      metricsPort: 0,
      metricsToken: null,
      agentDir: null,
      readyFile: null,
      secretsKey: null,
      secretsKeyCommand: null,
      logLevel: "info",
      allowInsecure: false,
      orchestrator: {},
    });
    expect(read({ FLEETWRIGHT_ALLOWED_HOSTS: "" }).allowedHosts).toBeNull();
  });

  it.each([
    ["FLEETWRIGHT_DRIFT_INTERVAL_SECONDS", "299"],
    ["FLEETWRIGHT_DRIFT_CONCURRENCY", "0"],
    ["FLEETWRIGHT_ROLLOUT_CONCURRENCY", "many"],
    ["FLEETWRIGHT_PORT", "65536"],
    ["FLEETWRIGHT_PORT", "-1"],
    ["FLEETWRIGHT_PORT", "80 "],
    ["FLEETWRIGHT_PORT", ""],
    ["FLEETWRIGHT_PORT", "0x50"],
    ["FLEETWRIGHT_OPERATION_RETENTION_DAYS", "0"],
    ["FLEETWRIGHT_OPERATION_RETENTION_DAYS", "1.5"],
    ["FLEETWRIGHT_AUDIT_MINIMUM_AGE_DAYS", "3651"],
    ["FLEETWRIGHT_PENDING_AGENTS", "0"],
    ["FLEETWRIGHT_PENDING_AGENT_RETENTION_DAYS", "0"],
    ["FLEETWRIGHT_SIGN_INS_PER_MINUTE", "0"],
    ["FLEETWRIGHT_CALLS_PER_MINUTE", "-1"],
    ["FLEETWRIGHT_SESSION_IDLE_SECONDS", "59"],
    ["FLEETWRIGHT_CHALLENGE_SECONDS", "601"],
    ["FLEETWRIGHT_SERVICE_NAME", ""],
    ["FLEETWRIGHT_TRUSTED_PROXIES", "10.0.0.0/"],
    ["FLEETWRIGHT_ALLOWED_HOSTS", "fleet.test:4748"],
    ["FLEETWRIGHT_DATA_DIR", ""],
    ["FLEETWRIGHT_LOG_LEVEL", "INFO"],
    ["FLEETWRIGHT_ALLOW_INSECURE", "yes"],
  ])("are refused by their names: %s=%j", (name, value) => {
    const refusal = { code: "CONFIGURATION_INVALID", message: expect.stringMatching(`^${name}: it must`) };
    expect(() => read({ [name]: value })).toThrow(expect.objectContaining(refusal));
  });

  it("are refused all at once, each by the flag, the variable or the file that it came from", () => {
    const path = join(temporaryFolder(), "seconds");
    writeFileSync(path, "4");
    const environment = {
      FLEETWRIGHT_CHALLENGE_SECONDS_FILE: path,
      FLEETWRIGHT_HOST_FILE: "/nonexistent/host",
      FLEETWRIGHT_CALLS_PER_MINUTE: "many",
      FLEETWRIGHT_SESSION_MAX_SECONDS: "600",
      FLEETWRIGHT_TLS_KEY: "secret",
    };
    const flags = { port: "http", sessionIdleSeconds: "601" };
    expect(() => read(environment, flags)).toThrow(
      expect.objectContaining({
        code: "CONFIGURATION_INVALID",
        message:
          "FLEETWRIGHT_HOST_FILE: its file /nonexistent/host can't be read (ENOENT); " +
          "--port: it must be a whole number from 0 to 65,535; " +
          "FLEETWRIGHT_CHALLENGE_SECONDS_FILE: it must be a whole number from 5 to 600, not 4; " +
          "FLEETWRIGHT_CALLS_PER_MINUTE: it must be 0 or a whole number from 1 to 1,000,000; " +
          "--session-idle-seconds: it must not be more than FLEETWRIGHT_SESSION_MAX_SECONDS, which is 600: it would end no session; " +
          "FLEETWRIGHT_TLS_CERT: it is needed beside FLEETWRIGHT_TLS_KEY.",
      }),
    );
  });

  it("let a session be shorter than the default of the other", () => {
    expect(read({ FLEETWRIGHT_SESSION_MAX_SECONDS: "600" }).orchestrator).toEqual({ sessionMaxSeconds: 600 });
  });
});

it("every variable of the command line that its page names is known beside the settings", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/command-line.md"), "utf8");
  const named = page.match(/^\| `FLEETWRIGHT_[A-Z_]+`/gm)!.map((row) => row.slice(3, -1));
  expect(named).toContain("FLEETWRIGHT_PROFILE");
  const environment = Object.fromEntries(named.map((name) => [name, "x"]));
  expect(unknownVariables({ ...processContext, environment })).toEqual([]);
});

it("variables that look like a setting and are none are found, with a guess", () => {
  const environment = {
    FLEETWRIGHT_URL: "x",
    FLEETWRIGHT_HOME: "x",
    FLEETWRIGHT_PORT: "1",
    FLEETWRIGHT_TLS_KEY_FILE: "x",
    FLEETWRIGHT_SESION_IDLE_SECONDS: "secret",
    FLEETWRIGHT_COLOUR: "red",
    PATH: "x",
  };
  expect(unknownVariables({ ...processContext, environment })).toEqual([
    {
      variable: "FLEETWRIGHT_SESION_IDLE_SECONDS",
      hint: "It is no setting, did you mean FLEETWRIGHT_SESSION_IDLE_SECONDS?",
    },
    { variable: "FLEETWRIGHT_COLOUR", hint: "It is no setting" },
  ]);
});
