/** What a call into the network asks of the network, gives back to it, and leaves on record. */
import { expect, it, onTestFinished, vi } from "vitest";
import { nodeCrypto, systemCaller } from "fleetwright";
import type { DatagramOptions, Datagrams } from "fleetwright/ports";
import { createTestOrchestrator, MemoryNetwork, type TestOrchestrator } from "fleetwright/testing";
import { readAnnouncement, writeAnswer } from "../../lib/wire/discovery-packets.ts";
import { settleAll } from "../support/deferred.ts";

async function broadcast(test: TestOrchestrator, input: object = {}) {
  const call = test.orchestrator.discovery.broadcast(systemCaller, input);
  await settleAll();
  await test.clock.advance(1_500);
  return call;
}

it("a socket whose announcement the network refuses is closed", async () => {
  const machine = new MemoryNetwork().machine("192.0.2.1");
  const close = vi.fn<() => void>();
  const send = () => Promise.reject(new Error("ENETUNREACH"));
  const open: Datagrams["open"] = async (options) => ({ ...(await machine.open(options)), send, close });
  await using test = await createTestOrchestrator({ datagrams: { ...machine, open } });
  expect((await broadcast(test)).sent_to).toEqual([]);
  expect(close).toHaveBeenCalledTimes(1);
});

it("a target on one link is called by the interface of that link", async () => {
  const machine = new MemoryNetwork().machine("192.0.2.1");
  const opened: Partial<DatagramOptions>[] = [];
  const datagrams: Datagrams = {
    ...machine,
    routeTo: (to) => Promise.resolve({ family: 6, address: "fe80::1%eth1", to }),
    open: (options) => {
      opened.push(options);
      return machine.open({ ...options, family: 4 });
    },
  };
  await using test = await createTestOrchestrator({ datagrams });
  await broadcast(test, { target: "ff02::1%eth1" });
  expect(opened).toMatchObject([{ family: 6, address: "fe80::1%eth1", interface: "eth1" }]);
});

it("a hundred networks are on record, the first three in words, however many there are", async () => {
  const machine = new MemoryNetwork().machine("192.0.2.1");
  const [own] = machine.addresses();
  const networks = Array.from({ length: 101 }, (_, n) => `10.0.${n}.255`);
  const addresses = () => networks.map((to, n) => ({ ...own!, interface: `eth${n}`, broadcast: to }));
  await using test = await createTestOrchestrator({ datagrams: { ...machine, addresses } });
  expect((await broadcast(test)).sent_to).toEqual(networks);
  const [event] = test.events.filter(({ event_type }) => event_type === "discovery.announced");
  expect(event?.metadata).toEqual({ sent_to: networks.slice(0, 100) });
  expect(event?.summary).toBe("An announcement was sent to 10.0.0.255, 10.0.1.255, 10.0.2.255 and others");
});

it("agents are asked to answer within half of the time that the call waits", async () => {
  const network = new MemoryNetwork();
  await using test = await createTestOrchestrator({ datagrams: network.machine("192.0.2.1") });
  const spreads: (number | undefined)[] = [];
  const heard = (packet: Uint8Array): void => void spreads.push(readAnnouncement(packet)?.spreadMs);
  await network.machine("192.0.2.7").open({ family: 4, port: 4747, heard });
  await broadcast(test, { timeout_ms: 1_001 });
  expect(spreads).toEqual([500]);
});

it("a call leaves nobody waiting for the end of the server", async () => {
  await using test = await createTestOrchestrator();
  const added = vi.spyOn(EventTarget.prototype, "addEventListener");
  const removed = vi.spyOn(EventTarget.prototype, "removeEventListener");
  onTestFinished(() => void [added, removed].map((spy) => spy.mockRestore()));
  await broadcast(test);
  const aborts = (spy: typeof added | typeof removed) =>
    spy.mock.calls.flatMap(([type, listener]) => (type === "abort" ? [listener] : []));
  expect(aborts(added)).not.toEqual([]);
  expect(aborts(removed)).toEqual(expect.arrayContaining(aborts(added)));
});

it("addresses with most answers give way by turns, until none has more than another", async () => {
  const network = new MemoryNetwork();
  // A thousand signatures take a second.
  const crypto = { ...nodeCrypto, verify: () => true };
  await using test = await createTestOrchestrator({ crypto, datagrams: network.machine("192.0.2.1") });
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(7));
  const answers: [string, number][] = [
    ["192.0.2.7", 520],
    ["192.0.2.8", 480],
    ["192.0.2.9", 50],
  ];
  for (const [at, [address, count]] of answers.entries()) {
    const socket = await network.machine(address).open({
      family: 4,
      port: 4747,
      heard: (packet, from) => {
        const { nonce, publicKey } = readAnnouncement(packet)!;
        const answer = writeAnswer(signer, publicKey, { nonce, hostname: "machine", agentVersion: "1" });
        for (let n = 0; n < count; n += 1) {
          answer.set([n & 255, n >> 8, at], 22);
          void socket.send(answer.slice(), from);
        }
      },
    });
  }
  const { responses } = await broadcast(test);
  const counts = answers.map(([own]) => responses.filter(({ address }) => address === own).length);
  expect(counts).toEqual([475, 475, 50]);
});
