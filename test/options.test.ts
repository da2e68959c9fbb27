import { describe, expect, it } from "vitest";
import {
  isOrchestratorError,
  LocalCluster,
  MemoryStorage,
  MemoryTransport,
  nodeCrypto,
  Orchestrator,
} from "fleetwright";
import type { Issue, OrchestratorOptions } from "fleetwright";
import { orchestratorOptionTable } from "../lib/option-table.ts";
import { resolveOptions } from "../lib/options.ts";

const parts = { storage: new MemoryStorage(), transport: new MemoryTransport() };

/** The faults of options, as a program in JavaScript may give them. */
function faultsOf(options: Record<string, unknown>): readonly Issue[] {
  try {
    resolveOptions({ ...parts, ...options });
    return [];
  } catch (error) {
    if (!isOrchestratorError(error, "OPTIONS_INVALID")) throw error;
    return error.issues;
  }
}

const numbers: [name: keyof OrchestratorOptions, from: number, to: number, standard: unknown][] = [
  ["sessionIdleSeconds", 60, 43_200, 3_600],
  ["sessionMaxSeconds", 60, 604_800, 43_200],
  ["challengeSeconds", 5, 600, 60],
  ["signInsPerMinute", 1, 100_000, 30],
  ["callsPerMinute", 1, 1_000_000, null],
  ["pendingAgents", 1, 100_000, 1_000],
  ["pendingAgentRetentionDays", 1, 99_999, 7],
  ["agentOfflineSeconds", 10, 604_800, 60],
  ["discoveryPort", 1, 65_535, 4_747],
  ["operationTimeoutSeconds", 1, 86_400, 300],
  ["operationGraceSeconds", 0, 86_400, 30],
  ["operationRetentionDays", 1, 99_999, 90],
  ["operationRetentionCount", 1_000, 10_000_000, 100_000],
  ["terminalSessions", 1, 10_000, 100],
  ["terminalIdleSeconds", 10, 86_400, 1_800],
  ["terminalMaxSeconds", 60, 604_800, 43_200],
  ["terminalRetentionDays", 1, 99_999, 90],
  ["eventRetentionHours", 1, 8_760, 24],
  ["eventRetentionCount", 1_000, 10_000_000, 100_000],
  ["auditMinimumAgeDays", 0, 3_650, 0],
  ["metricsIntervalSeconds", 1, 3_600, 15],
  ["secretExpiryWarningDays", 0, 365, 14],
  ["notificationRetentionDays", 1, 99_999, 90],
  ["rolloutConcurrency", 1, 10_000, 500],
  ["driftIntervalSeconds", 300, 2_592_000, 3_600],
  ["driftConcurrency", 1, 1_000, 8],
];

describe("an option that is a number", () => {
  it.each(numbers)("%s is taken from %i to %i", (name, from, to, standard) => {
    for (const value of [from, from + 1, to - 1, to])
      expect(resolveOptions({ ...parts, [name]: value })[name]).toBe(value);
    expect(resolveOptions(parts)[name]).toBe(standard);
    expect(resolveOptions({ ...parts, [name]: undefined })[name]).toBe(standard);
  });

  it.each(numbers)("%s is refused out of its range, and as anything but a whole number", (name, from, to) => {
    const wrong = [
      from - 1,
      to + 1,
      from + 0.5,
      NaN,
      Infinity,
      -Infinity,
      String(from),
      [from],
      {},
      true,
      1n,
    ];
    const others = name === "driftIntervalSeconds" ? wrong : [...wrong, -1];
    for (const value of others)
      expect(faultsOf({ [name]: value }), String(value)).toMatchObject([{ path: [name] }]);
    if (name !== "callsPerMinute") expect(faultsOf({ [name]: null })).toMatchObject([{ path: [name] }]);
  });

  it("may be 0 or null where that has a meaning of its own", () => {
    expect(resolveOptions({ ...parts, driftIntervalSeconds: 0 }).driftIntervalSeconds).toBe(0);
    expect(resolveOptions({ ...parts, callsPerMinute: null }).callsPerMinute).toBeNull();
    expect(faultsOf({ callsPerMinute: 0 })).toHaveLength(1);
  });

  it("are networks for channels, and nothing else", () => {
    const channelNetworks = ["10.0.0.0/8", "192.0.2.7", "fd00::/8", "::1"];
    expect(resolveOptions({ ...parts, channelNetworks }).channelNetworks).toEqual(channelNetworks);
    for (const wrong of ["10.0.0.0/33", "host", "", "10.0.0", 5, null])
      expect(faultsOf({ channelNetworks: [wrong] })).toMatchObject([{ path: ["channelNetworks", 0] }]);
    expect(faultsOf({ channelNetworks: "10.0.0.0/8" })).toMatchObject([{ path: ["channelNetworks"] }]);
  });

  it("are types of channels, each with what it needs", () => {
    const type = { config: { safeParse() {} }, secretFields: [], send() {} };
    expect(faultsOf({ channelTypes: { pager: type } })).toEqual([]);
    for (const [name, wrong] of Object.entries({ webhook: type, Pager: type, pager: { ...type, send: 5 } }))
      expect(faultsOf({ channelTypes: { [name]: wrong } })).toHaveLength(1);
    for (const wrong of [null, {}]) expect(faultsOf({ channelTypes: { pager: wrong } })).toHaveLength(3);
    for (const wrong of [null, [], "webhook"])
      expect(faultsOf({ channelTypes: wrong })).toMatchObject([{ path: ["channelTypes"] }]);
  });

  it("is told with its range and what was given", () => {
    expect(faultsOf({ sessionMaxSeconds: 5 })).toEqual([
      { path: ["sessionMaxSeconds"], message: "must be a whole number from 60 to 604,800, not 5" },
    ]);
    expect(faultsOf({ driftIntervalSeconds: 299 })).toEqual([
      {
        path: ["driftIntervalSeconds"],
        message: "must be 0 or a whole number from 300 to 2,592,000, not 299",
      },
    ]);
  });
});

describe("an option that is no number", () => {
  it("is the name of the service: one line of 1 to 200 characters", () => {
    for (const name of ["a", "x".repeat(200), "Flotte Süd 🚢"])
      expect(resolveOptions({ ...parts, serviceName: name }).serviceName).toBe(name);
    for (const name of ["", "x".repeat(201), "a\nb", "a\u2028b", "\u0000", 5, null])
      expect(faultsOf({ serviceName: name })).toMatchObject([{ path: ["serviceName"] }]);
  });

  it("is an address for agents, or null", () => {
    for (const agentUrl of ["ws://a", "wss://fleet.example:4100/agent/v1", null])
      expect(resolveOptions({ ...parts, agentUrl }).agentUrl).toBe(agentUrl);
    for (const agentUrl of ["", "ws://", "http://a", "wss://a b", `ws://${"a".repeat(371)}`, 5])
      expect(faultsOf({ agentUrl })).toMatchObject([{ path: ["agentUrl"] }]);
  });

  it("is a list of keys of Admins, each with its place", () => {
    const good = ["ab", { public_key: "cd" }, { public_key: "ef", username: "eva" }];
    expect(resolveOptions({ ...parts, adminPublicKeys: good }).adminPublicKeys).toEqual(good);
    expect(faultsOf({ adminPublicKeys: "ab" })).toMatchObject([{ path: ["adminPublicKeys"] }]);
    expect(
      faultsOf({ adminPublicKeys: ["ab", 5, { public_key: 5 }, { public_key: "ab", user: "eva" }] }),
    ).toMatchObject([1, 2, 3].map((index) => ({ path: ["adminPublicKeys", index] })));
  });

  it.each(["storage", "transport", "cluster", "clock", "crypto", "cron", "datagrams", "logger"])(
    "is a part with its methods: %s",
    (name) => {
      for (const value of [5, "x", null])
        expect(faultsOf({ [name]: value })).toMatchObject([{ path: [name] }]);
      expect(faultsOf({ [name]: {} })).toMatchObject([
        { path: [name], message: expect.stringContaining("()") },
      ]);
    },
  );

  it("is a cluster of its own for each orchestrator that was given none", () => {
    const [one, other] = [resolveOptions(parts), resolveOptions(parts)];
    expect(one.cluster).toBeInstanceOf(LocalCluster);
    expect(other.cluster).not.toBe(one.cluster);
    expect(resolveOptions({ ...parts, cluster: one.cluster }).cluster).toBe(one.cluster);
  });

  it("tells which methods a part lacks", () => {
    expect(faultsOf({ crypto: { ...nodeCrypto, seal: undefined, open: 5 } })).toEqual([
      { path: ["crypto"], message: "must have seal(), open()" },
    ]);
  });

  it("must be given where nothing can stand for it", () => {
    expect(faultsOf({ storage: undefined, transport: undefined })).toEqual([
      { path: ["storage"], message: "is missing" },
      { path: ["transport"], message: "is missing" },
    ]);
  });
});

describe("options together", () => {
  it("are refused all at once, when the orchestrator is made", () => {
    const options = {
      ...parts,
      sesionIdleSeconds: 60,
      challengeSeconds: 1,
      driftConcurrency: "8",
      adminPublicKeys: [null],
      logger: { info() {} },
    };
    expect(() => new Orchestrator(options as never)).toThrow(
      expect.objectContaining({
        code: "OPTIONS_INVALID",
        retryable: false,
        message:
          "Orchestrator: sesionIdleSeconds is no option, did you mean sessionIdleSeconds?; " +
          "adminPublicKeys[0] must be a public key, or { public_key, username }; " +
          "challengeSeconds must be a whole number from 5 to 600, not 1; " +
          "driftConcurrency must be a whole number from 1 to 1,000; " +
          "logger must have debug(), warn(), error().",
        issues: [
          { path: ["sesionIdleSeconds"], message: "is no option, did you mean sessionIdleSeconds?" },
          { path: ["adminPublicKeys", 0], message: "must be a public key, or { public_key, username }" },
          { path: ["challengeSeconds"], message: "must be a whole number from 5 to 600, not 1" },
          { path: ["driftConcurrency"], message: "must be a whole number from 1 to 1,000" },
          { path: ["logger"], message: "must have debug(), warn(), error()" },
        ],
      }),
    );
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "that no table has are unknown: %s",
    (name) => {
      expect(faultsOf(JSON.parse(`{ "${name}": 1 }`) as Record<string, unknown>)).toEqual(
        // A spread takes `__proto__` as any other name.
        [{ path: [name], message: expect.stringMatching(/^is no option/) }],
      );
    },
  );

  it.each([undefined, null, 5, "options", []])("are an object, not %j", (options) => {
    expect(() => new Orchestrator(options as never)).toThrow(
      expect.objectContaining({ code: "OPTIONS_INVALID", issues: [expect.objectContaining({ path: [] })] }),
    );
  });

  it("let no session be idle for longer than it lasts", () => {
    const idle = [{ path: ["sessionIdleSeconds"] }];
    expect(faultsOf({ sessionIdleSeconds: 601, sessionMaxSeconds: 600 })).toMatchObject(idle);
    expect(faultsOf({ sessionIdleSeconds: 43_201 })).toMatchObject(idle);
    expect(faultsOf({ sessionIdleSeconds: 86_400, sessionMaxSeconds: 86_400 })).toEqual([]);
    const tooMuch = {
      path: ["sessionIdleSeconds"],
      message: expect.stringContaining("60 to 86,400") as string,
    };
    expect(faultsOf({ sessionIdleSeconds: 86_401, sessionMaxSeconds: 604_800 })).toEqual([tooMuch]);
    expect(faultsOf({ sessionIdleSeconds: 600, sessionMaxSeconds: 600 })).toEqual([]);
    expect(faultsOf({ sessionMaxSeconds: 600 })).toEqual([]);
  });

  it("have rows above for each that the table has", () => {
    const tried = [
      ...numbers.map(([name]) => name),
      "serviceName",
      "adminPublicKeys",
      "agentUrl",
      "channelNetworks",
    ];
    expect(tried.toSorted()).toEqual(Object.keys(orchestratorOptionTable).toSorted());
  });
});
