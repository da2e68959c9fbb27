/** An agent whose orchestrator moved while it was away, over real sockets: it dials the new address soon, however long it was going to wait. */
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { nodeCrypto, silentLogger } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { createAgent } from "../../lib/agent/agent.ts";
import { seal } from "../../lib/agent/sealed-text.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { writeAnnouncement } from "../../lib/wire/discovery-packets.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { waitFor } from "../support/wait-for.ts";

/** An address where nobody speaks, and how many connections came to it. */
async function silentPlace(): Promise<{ url: string; calls: () => number }> {
  let calls = 0;
  const server = createServer((socket) => {
    calls += 1;
    socket.on("error", () => {}).destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => calls };
}

it("is dialled within a second", async () => {
  const [old, moved] = [await silentPlace(), await silentPlace()];
  const udp = createSocket("udp4");
  udp.bind(0, "127.0.0.1");
  await once(udp, "listening");
  const { port } = udp.address();
  udp.close();
  const stateDir = temporaryFolder();
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(1));
  writeFileSync(join(stateDir, "discovered.json"), `${seal({ version: 1, url: old.url })}\n`);
  const clock = new FakeClock();
  const agent = createAgent({
    stateDir,
    clock,
    logger: silentLogger,
    discover: { port },
    orchestratorKey: toHex(signer.publicKey),
  });
  onTestFinished(() => agent.stop());
  await agent.start();
  for (let dials = 1; dials <= 12; dials += 1)
    await waitFor(async () => {
      if (old.calls() < dials) await clock.advance(1_000);
      expect(old.calls()).toBeGreaterThanOrEqual(dials);
    });
  const caller = createSocket("udp4");
  onTestFinished(() => void caller.close());
  let answers = 0;
  caller.on("message", () => (answers += 1));
  // Heard, it is answered; until then hardly any time passes.
  await waitFor(async () => {
    const at = clock.now();
    const packet = writeAnnouncement(signer, { nonce: randomBytes(16), at, spreadMs: 0, url: moved.url });
    caller.send(packet, port, "127.0.0.1");
    await clock.advance(1);
    expect(answers).toBeGreaterThan(0);
  });
  await clock.advance(1_000);
  await waitFor(() => expect(moved.calls()).toBeGreaterThan(0));
});
