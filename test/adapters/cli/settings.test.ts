import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { readSettings } from "../../../adapters/cli/settings.ts";
import type { ServerFlags } from "../../../adapters/cli/settings.ts";
import { processContext } from "../../../adapters/cli/process-context.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function read(environment: Record<string, string>, flags: ServerFlags = {}) {
  return readSettings({ ...processContext, environment }, flags);
}

describe("a setting of the server", () => {
  it("has a default", () => {
    expect(read({})).toEqual({
      host: "127.0.0.1",
      port: 4748,
      dataDir: resolve(".fleetwright"),
      adminPublicKeys: [],
      tls: null,
      trustedProxies: [],
      operationRetentionDays: 90,
      operationRetentionCount: 100_000,
      auditMinimumAgeDays: 0,
      pendingAgents: 1_000,
      pendingAgentRetentionDays: 7,
      signInsPerMinute: 30,
      callsPerMinute: null,
      allowedHosts: null,
      logLevel: "info",
      allowInsecure: false,
      driftIntervalSeconds: 3_600,
      driftConcurrency: 8,
      rolloutConcurrency: 500,
    });
  });

  it("comes from a flag over the environment over a file", () => {
    const path = join(temporaryFolder(), "host");
    writeFileSync(path, "from-file\n");
    const file = { FLEETWRIGHT_HOST_FILE: path };
    const environment = { ...file, FLEETWRIGHT_HOST: "from-environment" };
    expect(read(file).host).toBe("from-file");
    expect(read(environment).host).toBe("from-environment");
    expect(read(environment, { host: "from-flag" }).host).toBe("from-flag");
  });

  it("may be a list, with commas or spaces", () => {
    expect(read({ FLEETWRIGHT_ALLOWED_HOSTS: "fleet.test, fleet" }).allowedHosts).toEqual([
      "fleet.test",
      "fleet",
    ]);
    expect(() => read({ FLEETWRIGHT_ALLOWED_HOSTS: "fleet.test:4748" })).toThrow(/ALLOWED_HOSTS/);
    const { trustedProxies } = read({ FLEETWRIGHT_TRUSTED_PROXIES: "10.0.0.0/8, ::1\n" });
    expect(trustedProxies).toEqual(["10.0.0.0/8", "::1"]);
  });

  it("of drift checks switches them off with 0", () => {
    expect(read({ FLEETWRIGHT_DRIFT_INTERVAL_SECONDS: "0" }).driftIntervalSeconds).toBe(0);
    expect(read({ FLEETWRIGHT_DRIFT_INTERVAL_SECONDS: "300" }).driftIntervalSeconds).toBe(300);
  });

  it.each([
    ["FLEETWRIGHT_DRIFT_INTERVAL_SECONDS", "299"],
    ["FLEETWRIGHT_DRIFT_CONCURRENCY", "0"],
    ["FLEETWRIGHT_ROLLOUT_CONCURRENCY", "many"],
    ["FLEETWRIGHT_PORT", "65536"],
    ["FLEETWRIGHT_PORT", "-1"],
    ["FLEETWRIGHT_PORT", "80 "],
    ["FLEETWRIGHT_OPERATION_RETENTION_DAYS", "0"],
    ["FLEETWRIGHT_OPERATION_RETENTION_DAYS", "1.5"],
    ["FLEETWRIGHT_AUDIT_MINIMUM_AGE_DAYS", "3651"],
    ["FLEETWRIGHT_PENDING_AGENTS", "0"],
    ["FLEETWRIGHT_PENDING_AGENT_RETENTION_DAYS", "0"],
    ["FLEETWRIGHT_SIGN_INS_PER_MINUTE", "0"],
    ["FLEETWRIGHT_CALLS_PER_MINUTE", "-1"],
    ["FLEETWRIGHT_LOG_LEVEL", "INFO"],
    ["FLEETWRIGHT_ALLOW_INSECURE", "yes"],
  ])("is refused by its name: %s=%j", (name, value) => {
    const refusal = { code: "CONFIGURATION_INVALID", message: expect.stringContaining(`${name}:`) };
    expect(() => read({ [name]: value })).toThrow(expect.objectContaining(refusal));
  });

  it("of TLS reads certificate and key from the files that flags name", () => {
    const folder = temporaryFolder();
    const [tlsCertFile, tlsKeyFile] = ["cert", "key"].map((name) => join(folder, name));
    writeFileSync(tlsCertFile ?? "", "CERT");
    writeFileSync(tlsKeyFile ?? "", "KEY");
    expect(read({}, { tlsCertFile: tlsCertFile ?? "", tlsKeyFile: tlsKeyFile ?? "" }).tls).toEqual({
      cert: "CERT",
      key: "KEY",
    });
  });
});
