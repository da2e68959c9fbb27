/** The product with 10,000 agents on a folder of files, none of them connected. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage, MemoryTransport, nodeCrypto, Orchestrator, toHex } from "fleetwright";
import { createApp } from "../../../adapters/h3/app.ts";
import { createContextFactory } from "../../../adapters/trpc/context.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";
import type { AgentDocument } from "../../../lib/agents/documents.ts";
import type { ServerUnderTest } from "../server-process.ts";
import { seedOf } from "../simulated-agent.ts";
import { signIn } from "./sign-in.ts";
import { agent as toy } from "./toy.ts";

/** Serves the fleet; `path` is what is asked for. */
export async function createFleetServer(path: string): Promise<ServerUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  await fillFleet(folder, 10_000);
  const admin = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  const orchestrator = new Orchestrator({
    storage: new FileStorage({ folder }),
    transport: new MemoryTransport(),
    adminPublicKeys: [toHex(admin.publicKey)],
  });
  await orchestrator.start();
  const token = await signIn(orchestrator, admin);
  const app = createApp({
    router: appRouter,
    createContext: createContextFactory(orchestrator),
    isReady: () => true,
  });
  return {
    path,
    headers: { authorization: `Bearer ${token}`, accept: "application/json" },
    listener: app.listener,
  };
}

/** Writes the agents behind the back of an orchestrator that has made the folder: enrolling so many would take minutes. */
export async function fillFleet(folder: string, agents: number): Promise<void> {
  const storage = new FileStorage({ folder });
  await using orchestrator = new Orchestrator({ storage, transport: new MemoryTransport() });
  await orchestrator.start();
  for (let at = 0; at < agents; at += 1_000) {
    const size = Math.min(1_000, agents - at);
    const documents = Array.from({ length: size }, (_, n) => toDocument(at + n));
    await storage.commit(
      documents.map((document) => ({
        kind: "put",
        collection: "agents",
        key: document.node_id,
        value: { ...document },
      })),
    );
  }
}

/** The simulated agent of this number, approved. */
function toDocument(number: number): AgentDocument {
  const { publicKey } = nodeCrypto.createSigner(seedOf(number));
  const { connected: _, ...agent } = toy;
  return {
    ...agent,
    node_id: toHex(nodeCrypto.sha256(publicKey)).slice(0, 32),
    name: `web-${number}`,
    public_key: toHex(publicKey),
    box_public_key: "0".repeat(64),
    remote_address: "192.0.2.1",
  };
}
