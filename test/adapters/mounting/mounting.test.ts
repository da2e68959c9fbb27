import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryStorage, nodeCrypto, Orchestrator, SocketTransport, systemCaller, toHex } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { createClient, type OperatorSigner } from "fleetwright/client";
import { createOrchestratorApp } from "fleetwright/h3";
import type { AppRouter } from "fleetwright/trpc";
import { newFolders } from "../../support/fleet.ts";
import { hosts, mountPath, urlOf } from "./hosts.ts";

describe.each(Object.entries(hosts))("mounted in %s", (_, start) => {
  it("answers over REST, tRPC and streams, takes agents, and leaves the rest to its host", async () => {
    const transport = new SocketTransport();
    const orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport });
    await orchestrator.start();
    onTestFinished(() => orchestrator.stop());
    const app = createOrchestratorApp({ orchestrator, transport, mountPath });
    const server = await start(app);
    server.on("upgrade", app.sockets.upgrade);
    onTestFinished(async () => {
      app.sockets.closeAll();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const host = urlOf(server);
    const url = host + mountPath;

    // What the host has of its own
    expect(await (await fetch(`${host}/own`)).text()).toBe("theirs");

    // REST, with a body and with a path that must not be decoded on the way
    const signer = newSigner();
    const added = { username: "ada", public_key: signer.publicKey, role: "Admin" } as const;
    await orchestrator.operators.add(systemCaller, added);
    let token = "";
    const client = createClient({ url, signer, onToken: (made) => (token = made) });
    const content = "name: web\nresources:\n  - { type: directory, path: /etc/web }\n";
    expect(await client.modules.upload({ content })).toMatchObject({ name: "web", revision: 1 });
    await expect(client.tags.remove("0".repeat(32), { key: "a/b" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    const made = { name: "web", selector: "*", modules: ["web"] };
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const post = { method: "POST", headers, body: JSON.stringify(made) };
    const created = await fetch(`${url}/api/v1/assignments`, post);
    expect(created.headers.get("location")).toBe(`${mountPath}/api/v1/assignments/web`);
    const { items } = await client.audit.list({ event_type: "module.uploaded" });
    expect(items).toMatchObject([{ source_address: "127.0.0.1" }]);

    // tRPC
    const link = httpBatchLink({ url: `${url}/trpc`, headers: { authorization: `Bearer ${token}` } });
    const trpc = createTRPCClient<AppRouter>({ links: [link] });
    expect(await trpc.modules.list.query({})).toMatchObject({ items: [{ name: "web" }] });

    // A stream, and an agent that it tells of
    const events = client.events.stream({ types: ["agent.connected"] });
    expect(await events.next()).toMatchObject({ value: { type: "position" } });
    const agent = createAgent({ ...newFolders(), url: `${url.replace("http", "ws")}/agent/v1` });
    onTestFinished(() => agent.stop());
    await agent.start();
    const told = await events.next();
    expect(told).toMatchObject({ value: { type: "event", event: { target: { id: agent.nodeId } } } });
    await events.return(undefined);

    // Pages and health know where they are
    const page = await fetch(`${url}/docs`);
    expect(await page.text()).toContain(`href="${mountPath}/docs/style.css"`);
    expect((await fetch(`${url}/problems/not-found`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    const described = (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as { servers: object[] };
    expect(described.servers).toEqual([{ url: `${mountPath}/api/v1` }]);
    await agent.stop();
  });
});

function newSigner(): OperatorSigner {
  const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  return {
    publicKey: toHex(signer.publicKey),
    sign: (message) => signer.sign(new TextEncoder().encode(message)),
  };
}
