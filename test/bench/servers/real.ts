/** The product: the real orchestrator on a folder of files, its real router, one agent, behind a session. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileStorage, MemoryTransport, nodeCrypto, Orchestrator, systemCaller, toHex } from "fleetwright";
import { createApp } from "../../../adapters/h3/app.ts";
import { createContextFactory } from "../../../adapters/trpc/context.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";
import { TestAgent } from "../../../lib/testing/test-agent.ts";
import type { ServerUnderTest } from "../server-process.ts";
import { signIn } from "./sign-in.ts";
import { agent as toy } from "./toy.ts";

export default async function create(): Promise<ServerUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const admin = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  const transport = new MemoryTransport();
  const orchestrator = new Orchestrator({
    storage: new FileStorage({ folder }),
    transport,
    adminPublicKeys: [toHex(admin.publicKey)],
  });
  await orchestrator.start();
  const nodeId = await enrol(orchestrator, transport);
  const token = await signIn(orchestrator, admin);
  const app = createApp({
    router: appRouter,
    createContext: createContextFactory(orchestrator),
    isReady: () => true,
  });
  return {
    path: `/api/v1/agents/${nodeId}`,
    headers: { authorization: `Bearer ${token}`, accept: "application/json" },
    listener: app.listener,
  };
}

/** Has an agent join that looks like the toy's. */
async function enrol(orchestrator: Orchestrator, transport: MemoryTransport): Promise<string> {
  const seed = nodeCrypto.randomBytes(32);
  const agent = new TestAgent(transport.connect(), { crypto: nodeCrypto, seed, hostname: toy.hostname });
  await agent.join();
  const { nodeId: node_id } = agent;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name: "web-0001" });
  await orchestrator.agents.tags.replace(systemCaller, { node_id, tags: toy.tags });
  return node_id;
}
