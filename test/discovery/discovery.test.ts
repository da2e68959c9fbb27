/** A call into the local network: who hears it, whose answers count, and what an operator is told. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { nodeCrypto, OrchestratorError, systemCaller } from "fleetwright";
import type { OrchestratorOptions } from "fleetwright";
import type { Datagrams, Endpoint } from "fleetwright/ports";
import { createTestOrchestrator, MemoryNetwork, type TestOrchestrator } from "fleetwright/testing";
import { nodeIdOf } from "../../lib/crypto/encoding.ts";
import { planAnnouncements } from "../../lib/discovery/announcements.ts";
import { readAnnouncement, writeAnswer } from "../../lib/wire/discovery-packets.ts";
import { settleAll } from "../support/deferred.ts";
import { startListener } from "../support/discovery.ts";

const url = "wss://fleet.example/agent/v1";

async function setUp(options: Partial<OrchestratorOptions> = {}) {
  const network = new MemoryNetwork();
  const test = await createTestOrchestrator({ datagrams: network.machine("192.0.2.1"), ...options });
  return { network, test };
}

/** Calls, and lets the time pass for which it waits. */
async function broadcast(test: TestOrchestrator, input: object = {}) {
  const call = test.orchestrator.discovery.broadcast(systemCaller, input);
  call.catch(() => {});
  await settleAll();
  await test.clock.advance(1_500);
  return call;
}

/** Somebody on the network who hears announcements and does with them what a test says. */
async function hear(
  datagrams: Datagrams,
  heard: (packet: Uint8Array, reply: (answer: Uint8Array) => void) => void,
): Promise<void> {
  const socket = await datagrams.open({
    family: 4,
    port: 4747,
    heard: (packet, from: Endpoint) => heard(packet, (answer) => void socket.send(answer, from)),
  });
}

describe("a call into the network", () => {
  it("finds the agents that answer, with how they stand, by node_id", async () => {
    const { network, test } = await setUp();
    await using _ = test;
    const { clock } = test;
    const signers = [3, 1, 2].map((byte) => nodeCrypto.createSigner(new Uint8Array(32).fill(byte)));
    const heard: string[] = [];
    for (const [at, signer] of signers.entries())
      await startListener(network.machine(`192.0.2.${7 + at}`), {
        clock,
        signer,
        hostname: `db-${at}`,
        heard: (announcement) => void heard.push(announcement.url),
      });
    const ids = signers.map(({ publicKey }) => nodeIdOf(publicKey, nodeCrypto));
    expect(ids).not.toEqual(ids.toSorted());
    const document = {
      node_id: ids[1]!,
      public_key: "",
      status: "rejected",
      remote_address: null,
      last_seen_at: "",
      tags: {},
    };
    await test.storage.commit([{ kind: "put", collection: "agents", key: ids[1]!, value: document }]);
    const found = await broadcast(test);
    expect(found.sent_to).toEqual(["192.0.2.255"]);
    const expected = ids.map((node_id, at) => ({
      node_id,
      hostname: `db-${at}`,
      address: `192.0.2.${7 + at}`,
      agent_version: "0.1.0",
      approval_status: at === 1 ? "rejected" : "unknown",
    }));
    expect(found.responses).toEqual(expected.toSorted((a, b) => (a.node_id! < b.node_id! ? -1 : 1)));
    expect(heard).toEqual([url, url, url]);
    const [event] = test.events.filter(({ event_type }) => event_type === "discovery.announced");
    expect(event).toMatchObject({ metadata: { sent_to: ["192.0.2.255"] }, actor: { type: "system" } });
  });

  it("reaches one machine alone, where it has a target", async () => {
    const { network, test } = await setUp();
    await using _ = test;
    const { clock } = test;
    for (const last of [7, 8])
      await startListener(network.machine(`192.0.2.${last}`), { clock, hostname: `db-${last}` });
    const { sent_to, responses } = await broadcast(test, { target: "192.0.2.8" });
    expect([sent_to, responses.map(({ hostname }) => hostname)]).toEqual([["192.0.2.8"], ["db-8"]]);
  });

  it("counts the first answer of an agent, and none that is forged, replayed, of another call, too large or garbage", async () => {
    const { network, test } = await setUp();
    await using _ = test;
    const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
    const old: Uint8Array[] = [];
    await hear(network.machine("192.0.2.66"), (packet, reply) => {
      const { nonce, publicKey } = readAnnouncement(packet)!;
      const write = (hostname: string, key = publicKey, at = nonce) =>
        writeAnswer(signer, key, { nonce: at, hostname, agentVersion: "1" });
      const forged = write("forged");
      forged[forged.length - 1]! ^= 1;
      reply(forged);
      reply(write("another", signer.publicKey));
      reply(write("earlier", publicKey, new Uint8Array(16)));
      for (const earlier of old) reply(earlier);
      reply(new Uint8Array(65_000));
      reply(new Uint8Array(0));
      reply(packet);
      const good = write("good");
      old.push(good);
      reply(good);
      reply(write("second"));
    });
    for (let call = 1; call <= 2; call += 1) {
      const { responses } = await broadcast(test);
      expect(responses.map(({ hostname }) => hostname)).toEqual(["good"]);
      await test.clock.advance(5_000);
    }
  });

  it("that could not be noted leaves its turn to the next", async () => {
    const { test } = await setUp();
    await using _ = test;
    const full = vi
      .spyOn(test.storage, "commit")
      .mockRejectedValueOnce(new OrchestratorError("STORAGE_FULL"));
    onTestFinished(() => full.mockRestore());
    await expect(broadcast(test)).rejects.toMatchObject({ code: "STORAGE_FULL" });
    expect((await broadcast(test)).sent_to).toEqual(["192.0.2.255"]);
    await expect(broadcast(test)).rejects.toMatchObject({ code: "RATE_LIMITED" });
  });

  it.each([
    ["one address", 1, 1_001, ["late"]],
    ["many addresses", 30, 2_001, []],
  ])(
    "looks at 2,000 signatures at most, whatever a flood from %s brings",
    async (_what, addresses, most, found) => {
      const { network, test } = await setUp();
      await using _ = test;
      const verify = vi.spyOn(nodeCrypto, "verify");
      onTestFinished(() => verify.mockRestore());
      for (let last = 0; last < addresses; last += 1)
        await hear(network.machine(`192.0.2.${last + 100}`), (packet, reply) => {
          const { nonce, publicKey } = readAnnouncement(packet)!;
          const key = nodeCrypto.createSigner(new Uint8Array(32).fill(4));
          const answer = writeAnswer(key, publicKey, { nonce, hostname: "x", agentVersion: "1" });
          for (let n = 0; n < 3_000 / addresses; n += 1) {
            answer.set([n & 255, n >> 8, last], 22);
            reply(answer.slice());
          }
        });
      await startListener(network.machine("192.0.2.67"), { clock: test.clock, hostname: "late" });
      const before = verify.mock.calls.length;
      const { responses } = await broadcast(test);
      expect(responses.map(({ hostname }) => hostname)).toEqual(found);
      // One is the agent's own, of the announcement.
      expect(verify.mock.calls.length - before - 1).toBeLessThanOrEqual(most);
    },
  );

  it("tells of an agent though a machine answers in the name of a thousand others", async () => {
    const { network, test } = await setUp();
    await using _ = test;
    await hear(network.machine("192.0.2.66"), (packet, reply) => {
      const { nonce, publicKey } = readAnnouncement(packet)!;
      for (let n = 0; n < 1_000; n += 1) {
        const seed = new Uint8Array(32).fill(7);
        seed.set([n & 255, n >> 8]);
        const answer = { nonce, hostname: `fake-${n}`, agentVersion: "1" };
        reply(writeAnswer(nodeCrypto.createSigner(seed), publicKey, answer));
      }
    });
    await startListener(network.machine("192.0.2.67"), { clock: test.clock, hostname: "late" });
    const { responses } = await broadcast(test);
    expect(responses).toHaveLength(1_000);
    expect(responses.map(({ hostname }) => hostname)).toContain("late");
  });

  it("is made once in 5 seconds", async () => {
    const { test } = await setUp();
    await using _ = test;
    expect((await broadcast(test)).responses).toEqual([]);
    await expect(broadcast(test)).rejects.toMatchObject({
      code: "RATE_LIMITED",
      details: { retry_after_seconds: 4 },
    });
    await test.clock.advance(3_500);
    expect((await broadcast(test)).sent_to).toEqual(["192.0.2.255"]);
  });

  it("ends when the server is about to stop", async () => {
    const { test } = await setUp();
    const call = test.orchestrator.discovery.broadcast(systemCaller, { timeout_ms: 10_000 });
    await settleAll();
    test.orchestrator.letGo();
    expect((await call).sent_to).toEqual(["192.0.2.255"]);
    await test.orchestrator.stop();
    expect(test.clock.pendingTimers).toBe(0);
  });

  it("tells of networks that refuse it by leaving them out", async () => {
    const refusing: Datagrams = {
      ...new MemoryNetwork().machine("192.0.2.1"),
      open: () => Promise.reject(new Error("EACCES")),
    };
    const { test } = await setUp({ datagrams: refusing });
    await using _ = test;
    expect(await broadcast(test)).toEqual({ sent_to: [], responses: [] });
  });

  it.each([
    [{ target: "a b" }, "VALIDATION_FAILED"],
    [{ target: "" }, "VALIDATION_FAILED"],
    [{ target: "x".repeat(254) }, "VALIDATION_FAILED"],
    [{ target: "nowhere" }, "VALIDATION_FAILED"],
    [{ timeout_ms: 99 }, "VALIDATION_FAILED"],
    [{ timeout_ms: 10_001 }, "VALIDATION_FAILED"],
    [{ timeout_ms: 1_500.5 }, "VALIDATION_FAILED"],
    [{ port: 4747 }, "VALIDATION_FAILED"],
  ])("with %j is refused: %s", async (input, code) => {
    const { test } = await setUp();
    await using _ = test;
    await expect(broadcast(test, input)).rejects.toMatchObject({ code });
    expect(test.events).toEqual([]);
  });

  it("is refused where nobody said at which address agents reach the server, and names its own once it listens", async () => {
    const { network, test } = await setUp({ agentUrl: null });
    await using _ = test;
    await expect(broadcast(test)).rejects.toMatchObject({ code: "CONFIGURATION_INVALID" });
    await test.clock.advance(5_000);
    const heard: string[] = [];
    await startListener(network.machine("192.0.2.7"), {
      clock: test.clock,
      heard: (announcement) => void heard.push(announcement.url),
    });
    test.orchestrator.servedAt({ host: "0.0.0.0", port: 4100, isSecure: true, path: "/agent/v1" });
    await broadcast(test);
    expect(heard).toEqual(["wss://192.0.2.1:4100/agent/v1"]);
  });
});

describe("where announcements go", () => {
  const lo = {
    interface: "lo",
    family: 4,
    address: "127.0.0.1",
    broadcast: "127.255.255.255",
    isLoopback: true,
    isLinkLocal: false,
  } as const;
  const eth = {
    interface: "eth0",
    family: 4,
    address: "10.0.0.5",
    broadcast: "10.0.0.255",
    isLoopback: false,
    isLinkLocal: false,
  } as const;
  const link = {
    ...eth,
    family: 6,
    address: "fe80::1",
    broadcast: "ff02::1%eth0",
    isLinkLocal: true,
  } as const;
  const global = { ...link, address: "2001:db8::1", isLinkLocal: false } as const;
  const lonely = { ...link, interface: "eth1", broadcast: "ff02::1%eth1" } as const;
  const all = [lo, eth, link, global, lonely];
  const plan = (host: string, url: string | null = null) =>
    planAnnouncements(all, { url, served: { host, port: 4100, isSecure: false, path: "/agent/v1" } }).map(
      ({ from, to, url: told }) => [from, to, told],
    );

  it.each([
    [
      "::",
      [
        ["127.0.0.1", "127.255.255.255", "ws://127.0.0.1:4100/agent/v1"],
        ["10.0.0.5", "10.0.0.255", "ws://10.0.0.5:4100/agent/v1"],
        ["fe80::1%eth0", "ff02::1%eth0", "ws://10.0.0.5:4100/agent/v1"],
      ],
    ],
    [
      "0.0.0.0",
      [
        ["127.0.0.1", "127.255.255.255", "ws://127.0.0.1:4100/agent/v1"],
        ["10.0.0.5", "10.0.0.255", "ws://10.0.0.5:4100/agent/v1"],
        ["fe80::1%eth0", "ff02::1%eth0", "ws://10.0.0.5:4100/agent/v1"],
      ],
    ],
    ["127.0.0.1", [["127.0.0.1", "127.255.255.255", "ws://127.0.0.1:4100/agent/v1"]]],
    [
      "2001:db8::1",
      [
        ["10.0.0.5", "10.0.0.255", "ws://[2001:db8::1]:4100/agent/v1"],
        ["fe80::1%eth0", "ff02::1%eth0", "ws://[2001:db8::1]:4100/agent/v1"],
      ],
    ],
    ["192.0.2.99", []],
  ])("of a server that listens at %s", (host, expected) => {
    expect(plan(host)).toEqual(expected);
  });

  it("with an address of the fleet's own, that one into every network", () => {
    expect(plan("127.0.0.1", url).map(([, to, told]) => [to, told])).toEqual([
      ["127.255.255.255", url],
      ["10.0.0.255", url],
      ["ff02::1%eth0", url],
      ["ff02::1%eth1", url],
    ]);
  });
});
