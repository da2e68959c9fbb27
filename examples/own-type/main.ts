/** A type of resource of one's own, from its declaration to a machine: `motto` keeps one line in a file. */
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { MemoryStorage, MemoryTransport, Orchestrator, systemCaller } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { defineResourceType, describeChange, resourceTypesWith, type Host } from "fleetwright/ports";

const path = "/etc/motto";

const mottoSchema = z.strictObject({
  /** Null = there is none, which is also what is come back to where there was none before. */
  text: z.string().max(200).nullable(),
});

function read({ files }: Host): string | null {
  return files.stat(path) ? new TextDecoder().decode(files.readFile(path)).trimEnd() : null;
}

const mottoType = defineResourceType<z.infer<typeof mottoSchema>>({
  type: "motto",
  summary: "The motto of a machine.",
  schema: mottoSchema,
  // A file declared at this path is about the same thing, and contradicts it.
  namespace: "path",
  identity: () => path,
  paths: () => [path],
  check({ text }, host) {
    const before = read(host);
    return before === text ? [] : [{ property: "text", before, after: text }];
  },
  apply({ text }, _changes, { files }, signal) {
    signal.throwIfAborted();
    if (text === null) files.removeFile(path);
    else files.writeFile(path, new TextEncoder().encode(`${text}\n`), { mode: 0o644 });
  },
  capture: (_spec, host) => ({ type: "motto", spec: { text: read(host) } }),
  describe: describeChange,
});

const folder = mkdtempSync(join(tmpdir(), "fleetwright-own-type-"));
mkdirSync(join(folder, "etc"));
const transport = new MemoryTransport();
await using orchestrator = new Orchestrator({
  storage: new MemoryStorage(),
  transport,
  ownTypes: [mottoType],
});
await orchestrator.start();

const arrived = new Promise<void>((resolve) => {
  orchestrator.listen(({ event_type }) => event_type === "agent.connected" && resolve());
});
await using agent = createAgent({
  dial: async () => transport.connect(),
  stateDir: join(folder, "state"),
  root: folder,
  types: resourceTypesWith([mottoType]),
});
await agent.start();
await arrived;

const node_id = agent.nodeId ?? "";
await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
await orchestrator.modules.upload(systemCaller, {
  content: "name: site\nresources:\n  - { type: motto, text: Look before you change. }\n",
});
const plan = await orchestrator.operations.plan(systemCaller, { node_id, modules: ["site"] });
const { operation_id: plan_id } = plan;
const { status } = await orchestrator.operations.apply(systemCaller, { node_id, plan_id });
console.log(`${status}: ${readFileSync(join(folder, path), "utf8")}`);
