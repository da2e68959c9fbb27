/** Options of what an orchestrator works with: each is checked where it is made, as its own are. */
import { describe, expect, it } from "vitest";
import {
  FileStorage,
  isOrchestratorError,
  MemoryStorage,
  MemoryTransport,
  SocketTransport,
} from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { temporaryFolder } from "./support/temporary-folder.ts";

type Given = Record<string, unknown>;

const makers: Record<string, (given: Given) => unknown> = {
  FileStorage: (given) => new FileStorage({ folder: temporaryFolder(), ...given }),
  MemoryStorage: (given) => new MemoryStorage(given),
  SocketTransport: (given) => new SocketTransport(given),
  MemoryTransport: (given) => new MemoryTransport(given),
  Agent: (given) => createAgent({ stateDir: temporaryFolder(), url: "ws://127.0.0.1:1", ...given }),
};

/** The places of the faults; empty where there are none. */
function placesOf(of: string, given: Given): (string | number)[][] {
  try {
    makers[of]!(given);
    return [];
  } catch (error) {
    if (!isOrchestratorError(error, "OPTIONS_INVALID")) throw error;
    expect(error.message).toMatch(new RegExp(`^${of}: `));
    return error.issues.map(({ path }) => path);
  }
}

const mebibyte = 1 << 20;
const century = 36_525 * 86_400_000;

describe("a number", () => {
  it.each([
    ["FileStorage", "segmentBytes", 1_024, 1_024 * mebibyte],
    ["FileStorage", "minJournalBytes", 1_024, 65_536 * mebibyte],
    ["FileStorage", "logSegmentBytes", 1_024, 1_024 * mebibyte],
    ["FileStorage", "rawSamplesMs", 300_000, century],
    ["FileStorage", "samplePointsMs", 300_000, century],
    ["SocketTransport", "sendLimitBytes", 65_536, 4_096 * mebibyte],
    ["SocketTransport", "maxPendingAgents", 1, 1_000_000],
    ["SocketTransport", "maxHandshakes", 1, 1_000_000],
    ["SocketTransport", "maxHandshakesPerAddress", 1, 1_000_000],
    ["SocketTransport", "handshakeTimeoutMs", 100, 600_000],
    ["SocketTransport", "agentTimePerSecondMs", 1, 1_000],
    ["SocketTransport", "agentTimeSavedMs", 1, 600_000],
    ["Agent", "keptResults.count", 0, 1_000_000],
    ["Agent", "keptResults.bytes", 0, 1_048_576 * mebibyte],
    ["Agent", "keptResults.hours", 0, 876_600],
  ])("%s %s is taken from %i to %i", (of, name, from, to) => {
    const path = name.split(".");
    const given = (value: unknown): Given =>
      path.reduceRight<unknown>((all, key) => ({ [key]: all }), value) as Given;
    for (const value of [from, to, undefined]) expect(placesOf(of, given(value)), String(value)).toEqual([]);
    for (const value of [from - 1, to + 1, -1, NaN, Infinity, null, String(from), [], {}])
      expect(placesOf(of, given(value)), String(value)).toEqual([path]);
  });

  it("is whole, but for hours", () => {
    expect(placesOf("SocketTransport", { handshakeTimeoutMs: 100.5 })).toEqual([["handshakeTimeoutMs"]]);
    expect(placesOf("Agent", { keptResults: { hours: 0.5 } })).toEqual([]);
  });
});

describe("an option that is no number", () => {
  it.each<[of: string, name: string, good: unknown[], wrong: unknown[]]>([
    ["FileStorage", "folder", ["x"], ["", 5, null]],
    ["FileStorage", "acceptLoss", [true, false, undefined], ["true", 1, null]],
    ["FileStorage", "clock", [undefined], [{}, null, 5]],
    ["FileStorage", "logger", [undefined], [console.log, { info() {} }]],
    ["MemoryStorage", "clock", [undefined], [Date]],
    ["MemoryStorage", "data", [undefined], [5, null, "x"]],
    ["Agent", "url", ["ws://a", "wss://a.test:1/agent/v1"], ["http://a", "a.test", "", 5, "ws:///x"]],
    ["Agent", "stateDir", ["x"], ["", 5, undefined]],
    ["Agent", "root", [undefined, "/x"], ["", null]],
    ["Agent", "orchestratorKey", [undefined, "ab"], [5]],
    ["Agent", "discover", [false, undefined], [5, "4747", null, []]],
    ["Agent", "tls", [undefined, {}, { ca: "x", allowUntrustedCertificate: true }], [5, null, []]],
    ["Agent", "host", [undefined], [{}, 5]],
    ["Agent", "types", [undefined, new Map()], [{}, []]],
    ["Agent", "crypto", [undefined], [{ seal() {} }]],
  ])("%s %s", (of, name, good, wrong) => {
    for (const value of good) expect(placesOf(of, { [name]: value }), String(value)).toEqual([]);
    for (const value of wrong) expect(placesOf(of, { [name]: value }), String(value)).toEqual([[name]]);
  });

  it("is refused where nobody knows it, wherever it is", () => {
    for (const of of Object.keys(makers)) expect(placesOf(of, { colour: "red" })).toEqual([["colour"]]);
    const given = { tls: { cert: "x", ca: 5 }, keptResults: { hour: 1 }, host: 5 };
    expect(placesOf("Agent", given)).toEqual([
      ["tls", "cert"],
      ["tls", "ca"],
      ["keptResults", "hour"],
      ["host"],
    ]);
  });

  it("of an agent names one way to its orchestrator", () => {
    const dial = (): Promise<never> => Promise.reject(new Error("never"));
    expect(placesOf("Agent", { url: undefined, dial })).toEqual([]);
    expect(placesOf("Agent", { dial })).toEqual([["url"]]);
    expect(placesOf("Agent", { url: undefined })).toEqual([["url"]]);
    expect(placesOf("Agent", { url: undefined, dial: "x" })).toEqual([["dial"]]);
    for (const discover of [true, { port: 1 }, { port: 65_535 }]) {
      expect(placesOf("Agent", { url: undefined, discover })).toEqual([]);
      for (const other of [{}, { url: undefined, dial }])
        expect(placesOf("Agent", { discover, ...other })).toEqual([["url"]]);
    }
    for (const port of [0, 65_536, 1.5, "4747", undefined])
      expect(placesOf("Agent", { url: undefined, discover: { port } })).toEqual([["discover", "port"]]);
  });
});

it("an option that is undefined has its default", () => {
  const storage = new FileStorage({ folder: temporaryFolder(), segmentBytes: undefined } as never);
  return expect(
    storage.open({ version: 1, collections: {}, logs: {} }).then(() => storage.close()),
  ).resolves.toBeUndefined();
});
