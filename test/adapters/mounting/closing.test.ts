/** A host that ends as docs/embedding.md says, while somebody reads a stream and somebody waits. */
import { createServer, type Server } from "node:http";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FileStorage, nodeCrypto, Orchestrator, SocketTransport, systemCaller, toHex } from "fleetwright";
import { createClient, type OperatorSigner } from "fleetwright/client";
import { createOrchestratorApp, type App } from "fleetwright/h3";
import { createTestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent } from "../../support/scripted-agent.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { hosts, mountPath, urlOf } from "./hosts.ts";

/** Shorter than a call here waits, and than Fastify keeps a connection that nothing is asked on. */
const mostMs = 8_000;

/** As in docs/embedding.md. */
async function end(server: Server, fleet: App, orchestrator: Orchestrator): Promise<void> {
  orchestrator.beginDrain();
  orchestrator.letGo();
  fleet.drain();
  fleet.sockets.closeAll();
  const looking = setInterval(() => server.closeIdleConnections(), 100);
  await new Promise((closed) => server.close(closed));
  clearInterval(looking);
  await orchestrator.stop();
}

describe.each(Object.entries(hosts))("mounted in %s", (_, start) => {
  it("streams end, who waits is answered, and the server closes", { timeout: 30_000 }, async () => {
    await using product = await createTestOrchestrator();
    const { orchestrator } = product;
    const { token, caller } = await product.signIn("Admin", "ada");
    await using agent = await connectScriptedAgent(product);
    await orchestrator.agents.setStatus(caller, { node_id: agent.nodeId, status: "approved" });
    const fleet = createOrchestratorApp({ orchestrator, mountPath });
    const server = await start(fleet);
    server.on("upgrade", fleet.sockets.upgrade);
    const url = urlOf(server) + mountPath;
    const client = createClient({ url, token });

    const headers = { authorization: `Bearer ${token}` };
    const stream = await fetch(`${url}/api/v1/events`, { headers });
    const read = stream.text();
    const run = client.runs.start({ selector: "*", command: "true", wait_seconds: 60 });
    await agent.next("run");

    const startedAt = performance.now();
    await end(server, fleet, orchestrator);

    expect(performance.now() - startedAt).toBeLessThan(mostMs);
    expect(await run).toMatchObject({ status: "running" });
    expect(await read).toContain('"type":"position"');
  });
});

it("a program that starts another orchestrator in the place of one keeps its clients", async () => {
  const folder = temporaryFolder();
  const begin = async (): Promise<Orchestrator> => {
    const orchestrator = new Orchestrator({
      storage: new FileStorage({ folder }),
      transport: new SocketTransport(),
    });
    await orchestrator.start();
    return orchestrator;
  };
  let orchestrator = await begin();
  onTestFinished(() => orchestrator.stop());
  let fleet = createOrchestratorApp({ orchestrator, mountPath });
  const server = createServer((request, response) => fleet.listener(request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close().closeAllConnections());
  const signer = newSigner();
  const added = { username: "ada", public_key: signer.publicKey, role: "Viewer" } as const;
  await orchestrator.operators.add(systemCaller, added);
  const away = vi.fn<() => void>();
  const client = createClient({ url: urlOf(server) + mountPath, signer, onAway: away });
  const events = client.events.stream();
  await events.next();

  const told = events.next();
  await orchestrator.stop();
  const listed = client.agents.list();
  await vi.waitFor(() => expect(away).toHaveBeenCalled(), 5_000);
  orchestrator = await begin();
  fleet = createOrchestratorApp({ orchestrator, mountPath });

  expect(await told).toMatchObject({ done: false });
  expect(await listed).toMatchObject({ items: [] });
  expect(away).toHaveBeenCalledOnce();
  await events.return();
});

function newSigner(): OperatorSigner {
  const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  return {
    publicKey: toHex(signer.publicKey),
    sign: (message) => signer.sign(new TextEncoder().encode(message)),
  };
}
