/** Modules whose contents a storage can't read for once, or that are lost: what is told, and that all is well once it is. */
import { describe, expect, it, onTestFinished } from "vitest";
import { OrchestratorError, systemCaller, type Caller, type Orchestrator } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import type { JsonObject } from "../../lib/json.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";

const content = `name: web
params:
  password: { type: string, sensitive: true, default: hunter2 }
  port: { type: integer, default: 80 }
resources:
  - { id: f, type: file, path: /web, content: "{{ params.password }}" }
`;
const other = `name: other\nresources:\n  - { id: f, type: file, path: /web, content: "x" }\n`;

/** The next read of a module's content fails, as that of a storage in another place does. */
class FailingOnce extends MemoryStorage {
  isFailing = false;

  override readBlob(...args: Parameters<MemoryStorage["readBlob"]>): ReturnType<MemoryStorage["readBlob"]> {
    if (!this.isFailing || !args[0].startsWith("module-")) return super.readBlob(...args);
    this.isFailing = false;
    return Promise.reject(new OrchestratorError("UNAVAILABLE", { message: "It fails once." }));
  }
}

/** An orchestrator that has read nothing yet, of one that has taken in module web and an assignment of it. */
async function scene() {
  const [clock, data] = [new FakeClock(), new MemoryData()];
  const first = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
  const { modules, assignments } = first.orchestrator;
  for (const each of [content, other]) await modules.upload(systemCaller, { content: each });
  const params = { password: "hunter3", port: 81 };
  await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"], params });
  const { token } = await first.signIn("Viewer", "joan");
  await first.orchestrator.stop();
  const storage = new FailingOnce({ clock, data });
  const test = await createTestOrchestrator({ clock, storage });
  onTestFinished(() => test[Symbol.asyncDispose]());
  const { orchestrator } = test;
  const viewer = await orchestrator.access.authenticate(token);
  const documentOf = async (): Promise<Record<string, string>> =>
    (await storage.get<JsonObject>("modules", "web"))!.value as Record<string, string>;
  const drop = async (hash: string): Promise<unknown> =>
    storage.commit([{ kind: "dropBlob", id: `module-${hash}` }]);
  return { orchestrator, storage, data, viewer, documentOf, drop };
}

type Call = (orchestrator: Orchestrator, viewer: Caller) => Promise<unknown>;

const calls: Record<string, Call> = {
  "a module read by who may write it": ({ modules }) => modules.get(systemCaller, { name: "web" }),
  "a module read by a Viewer": ({ modules }, viewer) => modules.get(viewer, { name: "web" }),
  "a list of modules for a Viewer": ({ modules }, viewer) => modules.list(viewer),
  "a list of assignments": ({ assignments }) => assignments.list(systemCaller),
  "an upload of what is there": ({ modules }) => modules.upload(systemCaller, { content }),
  "an assignment of another module": ({ assignments }) =>
    assignments.create(systemCaller, { name: "other", selector: "env=none", modules: ["other"] }),
};

describe("where a content can't be read for once", () => {
  it.each(Object.entries(calls))(
    "%s fails as the storage does, and succeeds with the next try",
    async (_, call) => {
      const { orchestrator, storage, viewer } = await scene();
      storage.isFailing = true;
      await expect(call(orchestrator, viewer)).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(storage.isFailing).toBe(false);
      const { items } = await orchestrator.assignments.list(systemCaller);
      expect(items.map(({ params }) => params)).toEqual([{ password: "(sensitive)", port: 81 }]);
      await expect(call(orchestrator, viewer)).resolves.toBeDefined();
    },
  );
});

describe("where what is shown of a module", () => {
  const spoilt: [what: string, bytes: string][] = [
    ["is no JSON", "{"],
    ["is no object", "null"],
    ["is of another version", JSON.stringify({ version: 0, params: {}, resources: [], hidden: null })],
  ];

  it.each(spoilt)("%s, it is made anew, and nothing is kept of that", async (_, text) => {
    const { orchestrator, storage, data, viewer, documentOf, drop } = await scene();
    const bytes = new TextEncoder().encode(text);
    const view_hash = toHex(nodeCrypto.sha256(bytes));
    await storage.appendBlob(`module-${view_hash}`, bytes, 0);
    const document = await documentOf();
    // What is made anew is what this was, which nothing refers to any more.
    await drop(document["view_hash"]!);
    const value = { ...document, view_hash };
    await storage.commit([{ kind: "put", collection: "modules", key: "web", value }]);
    const before = [...data.blobs.keys()].toSorted();
    const shown = await orchestrator.modules.get(viewer, { name: "web" });
    expect(shown.content).not.toContain("hunter");
    expect(shown.resources).toEqual([{ id: "f", type: "file", identity: "/web" }]);
    expect([...data.blobs.keys()].toSorted()).toEqual(before);
  });

  it("is lost on a disk that is full, it is read all the same", async () => {
    const { orchestrator, storage, data, viewer, documentOf, drop } = await scene();
    const before = await orchestrator.modules.get(viewer, { name: "web" });
    const { view_hash } = await documentOf();
    await drop(view_hash!);
    data.freeBytes = 0;
    for (let reads = 0; reads < 2; reads += 1)
      expect(await orchestrator.modules.get(viewer, { name: "web" })).toEqual(before);
    expect(await storage.readBlob(`module-${view_hash}`)).toBeNull();
    data.freeBytes = Infinity;
  });
});

describe("where a content is lost", () => {
  const refused: Record<string, Call> = {
    "an assignment of it": ({ assignments }) =>
      assignments.create(systemCaller, { name: "more", selector: "*", modules: ["web"] }),
    "an assignment of what may contradict it": ({ assignments }) =>
      assignments.create(systemCaller, { name: "other", selector: "*", modules: ["other"] }),
  };

  it.each(Object.entries(refused))(
    "%s is refused, since nobody knows whether they agree, until it is uploaded again",
    async (_, call) => {
      const { orchestrator, viewer, documentOf, drop } = await scene();
      await drop((await documentOf())["content_hash"]!);
      const names = async () =>
        (await orchestrator.assignments.list(systemCaller)).items.map(({ name }) => name);
      for (let tries = 0; tries < 2; tries += 1)
        await expect(call(orchestrator, viewer)).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
      expect(await names()).toEqual(["web"]);
      expect(await orchestrator.modules.upload(systemCaller, { content })).toMatchObject({ created: false });
      const { items } = await orchestrator.modules.list(systemCaller);
      expect(items.map(({ name, revision }) => [name, revision])).toEqual([
        ["other", 1],
        ["web", 1],
      ]);
      await call(orchestrator, viewer);
      expect(await names()).toHaveLength(2);
    },
  );
});
