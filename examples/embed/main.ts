/** An orchestrator and an agent inside one program, in memory: no server, no network, nothing left behind but a folder to look at. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemoryStorage, MemoryTransport, Orchestrator, systemCaller } from "fleetwright";
import { createAgent } from "fleetwright/agent";

const folder = mkdtempSync(join(tmpdir(), "fleetwright-embed-"));
const transport = new MemoryTransport();
await using orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport });
await orchestrator.start();

const arrived = new Promise<void>((resolve) => {
  orchestrator.listen(({ event_type }) => event_type === "agent.connected" && resolve());
});
await using agent = createAgent({
  dial: async () => transport.connect(),
  stateDir: join(folder, "state"),
  root: folder,
});
await agent.start();
await arrived;

const node_id = agent.nodeId ?? "";
await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
await orchestrator.modules.upload(systemCaller, {
  content: "name: hello\nresources:\n  - { type: file, path: /hello.txt, content: Hello from a module. }\n",
});
const { status } = await orchestrator.operations.apply(systemCaller, { node_id, modules: ["hello"] });
console.log(`${status}: ${readFileSync(join(folder, "hello.txt"), "utf8")}`);
