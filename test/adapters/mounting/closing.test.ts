/** A host that ends as docs/embedding.md says, while somebody reads a stream and somebody waits. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FileStorage, nodeCrypto, Orchestrator, SocketTransport, systemCaller, toHex } from "fleetwright";
import { createClient, type OperatorSigner } from "fleetwright/client";
import { createOrchestratorApp, type App } from "fleetwright/h3";
import { createTestOrchestrator } from "fleetwright/testing";
import { blocksOf } from "../../support/pages.ts";
import { connectScriptedAgent } from "../../support/scripted-agent.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { hosts, mountPath, urlOf } from "./hosts.ts";

/** Shorter than a call here waits, and than Fastify keeps a connection that nothing is asked on. */
const mostMs = 8_000;

/** Longer than answers to calls take that are under way. */
const lastMs = 2_000;

type End = (server: Server, fleet: App, orchestrator: Orchestrator) => Promise<void>;

/** What docs/embedding.md has programs call, but for how long it waits at most. */
async function endOfTheGuide(): Promise<End> {
  const [example] = blocksOf("docs/embedding.md").filter(({ text }) => text.includes("function end("));
  const { text } = example!;
  expect(text).toContain("10_000");
  const path = join(temporaryFolder(), "end.ts");
  writeFileSync(path, text.replace("10_000", String(lastMs)));
  return ((await import(/* @vite-ignore */ pathToFileURL(path).href)) as { end: End }).end;
}

describe.each(Object.entries(hosts))("mounted in %s", (_, start) => {
  it("streams end, who waits is answered, and the server closes", { timeout: 30_000 }, async () => {
    await using product = await createTestOrchestrator();
    const { orchestrator } = product;
    const end = await endOfTheGuide();
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

  it("a connection that says nothing, or takes nothing, holds it up no longer than said", async () => {
    await using product = await createTestOrchestrator();
    const { orchestrator } = product;
    const end = await endOfTheGuide();
    const fleet = createOrchestratorApp({ orchestrator, mountPath });
    const server = await start(fleet);
    const { port } = server.address() as AddressInfo;
    const line = `GET ${mountPath}/api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n`;
    const silent = await connectWith(port, "");
    const half = await connectWith(port, line);
    const unread = await connectWith(port, `${line}\r\n`.repeat(40));
    const gone = [silent, half, unread].map((socket) => once(socket, "close"));
    await vi.waitFor(() => expect(unread.readableLength).toBeGreaterThan(0), 5_000);

    const startedAt = performance.now();
    await end(server, fleet, orchestrator);

    expect(performance.now() - startedAt).toBeLessThan(mostMs);
    await expect(orchestrator.agents.list(systemCaller, {})).rejects.toMatchObject({
      code: "STORAGE_CLOSED",
    });
    unread.resume();
    await Promise.all(gone);
    expect(server.listening).toBe(false);
  });
});

/** A connection that sends something, and reads nothing of what comes. */
async function connectWith(port: number, text: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

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
