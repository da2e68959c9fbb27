/** Which orchestrator an agent dials that was given no address, and whom it then obeys. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { nodeCrypto, silentLogger } from "fleetwright";
import { FakeClock, MemoryNetwork } from "fleetwright/testing";
import { DiscoveredOrchestrator } from "../../../lib/agent/discovery/discovered-orchestrator.ts";
import { PinnedOrchestrator } from "../../../lib/agent/identity.ts";
import { createSocketPair } from "../../../lib/transport/memory-socket.ts";
import { writeAnnouncement } from "../../../lib/wire/discovery-packets.ts";
import { settle } from "../../support/deferred.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const signerOf = (byte: number) => nodeCrypto.createSigner(new Uint8Array(32).fill(byte));
const [ours, rogue] = [signerOf(1), signerOf(2)];

async function scene(stateDir = temporaryFolder()) {
  const clock = new FakeClock();
  const network = new MemoryNetwork();
  const dialled: string[] = [];
  let found = 0;
  const own = new PinnedOrchestrator({ stateDir, crypto: nodeCrypto, logger: silentLogger }, undefined);
  const discovered = new DiscoveredOrchestrator({
    stateDir,
    pin: own,
    clock,
    crypto: nodeCrypto,
    logger: silentLogger,
    random: () => 0,
    datagrams: network.machine("192.0.2.7"),
    port: 4747,
    signer: signerOf(3),
    hostname: "db-1",
    agentVersion: "0.1.0",
    found: () => (found += 1),
    dial: (url) => {
      dialled.push(url);
      return Promise.resolve(createSocketPair()[0]);
    },
  });
  await discovered.start();
  onTestFinished(() => discovered.stop());
  const socket = await network.machine("192.0.2.1").open({ family: 4, heard: () => {} });
  let made = 0;
  const announce = async (url: string, signer = ours): Promise<void> => {
    made += 1;
    const packet = writeAnnouncement(signer, {
      nonce: new Uint8Array(16),
      at: clock.now() + made,
      spreadMs: 0,
      url,
    });
    await socket.send(packet, { address: "192.0.2.7", port: 4747 });
    await settle();
  };
  const dial = () => discovered.dial(new AbortController().signal);
  return { stateDir, discovered, own, dialled, announce, dial, found: () => found };
}

it("waits for an announcement before it dials, or until it is stopped", async () => {
  const { discovered, announce, dialled, dial } = await scene();
  const dialling = dial();
  await settle();
  expect(dialled).toEqual([]);
  await announce("ws://a");
  await dialling;
  expect(dialled).toEqual(["ws://a"]);
  const end = new AbortController();
  const { discovered: other } = await scene();
  const waiting = other.dial(end.signal);
  end.abort();
  await expect(waiting).rejects.toThrow();
  discovered.stop();
});

it("has what it dials prove the key that was announced, and pins it when it did", async () => {
  const { discovered, own, announce, dial } = await scene();
  await announce("ws://a");
  await dial();
  expect(discovered.pin.get()).toEqual(ours.publicKey);
  expect(own.get()).toBeNull();
  await discovered.pin.set(ours.publicKey);
  discovered.accepted();
  expect(own.get()).toEqual(ours.publicKey);
  await announce("ws://rogue", rogue);
  await dial();
  expect(discovered.pin.get()).toEqual(ours.publicKey);
});

it("before one is pinned, goes by the newest announcement: a rogue that can't prove its key keeps nobody away", async () => {
  const { discovered, announce, dialled, dial } = await scene();
  await announce("ws://rogue", rogue);
  await dial();
  expect(discovered.pin.get()).toEqual(rogue.publicKey);
  await announce("ws://a");
  await dial();
  expect([dialled, discovered.pin.get()]).toEqual([["ws://rogue", "ws://a"], ours.publicKey]);
});

it("dials the last orchestrator again after a restart, without a new announcement", async () => {
  const first = await scene();
  await first.announce("ws://a");
  await first.dial();
  await first.own.set(ours.publicKey);
  first.discovered.accepted();
  first.discovered.stop();
  const second = await scene(first.stateDir);
  await second.dial();
  expect(second.dialled).toEqual(["ws://a"]);
});

it("tries in turn where an orchestrator was and where it says that it is, until one of them takes it in", async () => {
  const { discovered, own, announce, dialled, dial, stateDir } = await scene();
  await announce("ws://old");
  await dial();
  await own.set(ours.publicKey);
  discovered.accepted();
  await announce("ws://new");
  for (let n = 0; n < 4; n += 1) await dial();
  expect(dialled.slice(1)).toEqual(["ws://new", "ws://old", "ws://new", "ws://old"]);
  await dial();
  discovered.accepted();
  for (let n = 0; n < 2; n += 1) await dial();
  expect(dialled.slice(5)).toEqual(["ws://new", "ws://new", "ws://new"]);
  expect(readFileSync(join(stateDir, "discovered.json"), "utf8")).toContain("ws://new");
});

it("dials the place first that took it in last, and the other where that fails, also after an announcement from elsewhere", async () => {
  const { discovered, own, announce, dialled, dial } = await scene();
  await announce("ws://here");
  await dial();
  await own.set(ours.publicKey);
  discovered.accepted();
  // Such as its address in another network.
  await announce("ws://there");
  await dial();
  await dial();
  expect(dialled.slice(1)).toEqual(["ws://there", "ws://here"]);
  for (let connection = 0; connection < 3; connection += 1) {
    discovered.accepted();
    await announce("ws://there");
    await dial();
  }
  expect(dialled.slice(3)).toEqual(["ws://here", "ws://here", "ws://here"]);
  await dial();
  await dial();
  expect(dialled.slice(6)).toEqual(["ws://there", "ws://here"]);
  await dial();
  discovered.accepted();
  await dial();
  expect(dialled.slice(8)).toEqual(["ws://there", "ws://there"]);
});

it("is told of a new place once, and dials it next, whichever's turn it is", async () => {
  const { discovered, own, announce, dialled, dial, found } = await scene();
  await announce("ws://old");
  await dial();
  await own.set(ours.publicKey);
  discovered.accepted();
  expect(found()).toBe(1);
  await announce("ws://old");
  expect(found()).toBe(1);
  await announce("ws://new");
  await announce("ws://new");
  expect(found()).toBe(2);
  await dial();
  await announce("ws://newer");
  await announce("ws://rogue", rogue);
  expect(found()).toBe(3);
  await dial();
  expect(dialled).toEqual(["ws://old", "ws://new", "ws://newer"]);
});

it.each(["", "{", '{"version":1,"url":"http://a"}', "x".repeat(100_000)])(
  "knows nothing where its file says %s, and is discovered again",
  async (text) => {
    const first = await scene();
    await first.own.set(ours.publicKey);
    writeFileSync(join(first.stateDir, "discovered.json"), text);
    const { announce, dial, dialled } = await scene(first.stateDir);
    const dialling = dial();
    await settle();
    expect(dialled).toEqual([]);
    await announce("ws://a");
    await dialling;
    expect(dialled).toEqual(["ws://a"]);
  },
);

it("goes on where the address can't be kept", async () => {
  const { discovered, announce, dial, stateDir } = await scene();
  await announce("ws://a");
  await dial();
  const path = join(stateDir, "discovered.json.new");
  mkdirSync(path);
  expect(() => discovered.accepted()).not.toThrow();
  expect(existsSync(join(stateDir, "discovered.json"))).toBe(false);
});
