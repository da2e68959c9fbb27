/** Lists are answered from what was made for an earlier answer. Whatever changes an agent must show in the very next one. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MemoryStorage, nodeCrypto, systemCaller, type Agent } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { createContextFactory, appRouter } from "fleetwright/trpc";
import { createApp } from "../../adapters/h3/app.ts";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { listenOnLoopback, send } from "../support/http.ts";

type Test = Awaited<ReturnType<typeof start>>;
let server: Test;
beforeEach(async () => {
  server = await start();
});
afterEach(() => server.stop());

async function start() {
  const orchestrated = await createTestOrchestrator();
  const { orchestrator } = orchestrated;
  const listening = await listenOnLoopback(
    createApp({ router: appRouter, createContext: createContextFactory(orchestrator), isReady: () => true }),
  );
  const headers = { authorization: `Bearer ${(await orchestrated.signIn("Viewer")).token}` };
  const get = async (path: string): Promise<unknown> => (await send(listening.port, { path, headers })).json;
  const stop = async (): Promise<void> => {
    await listening[Symbol.asyncDispose]();
    await orchestrated[Symbol.asyncDispose]();
  };
  return { ...orchestrated, get, stop };
}

type Filter = Record<string, string>;
interface Page {
  items: Agent[];
}

/** The list as each surface answers. */
const surfaces: Record<string, (filter: Filter) => Promise<Agent[]>> = {
  REST: async (filter) =>
    ((await server.get(`/api/v1/agents?${new URLSearchParams(filter).toString()}`)) as Page).items,
  tRPC: async (filter) => {
    const input = encodeURIComponent(JSON.stringify(filter));
    return ((await server.get(`/trpc/agents.list?input=${input}`)) as { result: { data: Page } }).result.data
      .items;
  },
  "a batch over tRPC": async (filter) => {
    const input = encodeURIComponent(JSON.stringify({ 1: filter }));
    const answers = await server.get(`/trpc/status.get,agents.list?batch=1&input=${input}`);
    return (answers as { result: { data: Page } }[])[1]!.result.data.items;
  },
};

async function join(hostname: string, { transport }: TestOrchestrator = server): Promise<TestAgent> {
  const seed = nodeCrypto.randomBytes(32);
  const agent = new TestAgent(transport.connect(), { crypto: nodeCrypto, seed, hostname });
  await agent.join();
  return agent;
}

/** Resolves with the next event of a type. */
function happens(type: string): Promise<void> {
  return new Promise((resolve) => {
    const end = server.orchestrator.listen((event) => {
      if (event.event_type !== type) return;
      end();
      resolve();
    });
  });
}

const change = {
  approve: (node_id: string) =>
    server.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" }),
  reject: (node_id: string) =>
    server.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" }),
  tag: (node_id: string, tags: Record<string, string>) =>
    server.orchestrator.agents.tags.replace(systemCaller, { node_id, tags }),
  attributes: (node_id: string) => server.orchestrator.agents.attributes(systemCaller, { node_id }),
  remove: (node_id: string) => server.orchestrator.agents.remove(systemCaller, { node_id }),
};

describe.each(Object.entries(surfaces))("a list over %s", (_name, list) => {
  /** Twice: the second is what the first made. */
  async function seen(filter: Filter = {}): Promise<Agent[]> {
    const first = await list(filter);
    expect(await list(filter)).toEqual(first);
    return first;
  }

  test("shows an agent that is new, approved, rejected and removed", async () => {
    expect(await seen()).toEqual([]);
    const { nodeId } = await join("web");
    expect(await seen()).toMatchObject([{ node_id: nodeId, status: "pending" }]);
    expect(await seen({ status: "approved" })).toEqual([]);
    await change.approve(nodeId);
    expect(await seen()).toMatchObject([{ status: "approved", name: "web" }]);
    expect(await seen({ status: "approved" })).toHaveLength(1);
    expect(await seen({ status: "pending" })).toEqual([]);
    await change.reject(nodeId);
    expect(await seen()).toMatchObject([{ status: "rejected" }]);
    await change.remove(nodeId);
    expect(await seen()).toEqual([]);
  });

  test("shows tags, and finds by them and by what the agent tells", async () => {
    const agent = await join("web");
    const { nodeId } = agent;
    await change.approve(nodeId);
    expect(await seen({ selector: "env=prod" })).toEqual([]);
    await change.tag(nodeId, { env: "prod" });
    expect(await seen({ selector: "env=prod" })).toMatchObject([{ tags: { env: "prod" } }]);
    await change.tag(nodeId, { env: "test" });
    expect(await seen({ selector: "env=prod" })).toEqual([]);
    expect(await seen({ selector: "env=test" })).toMatchObject([{ tags: { env: "test" } }]);
    const bySystem = { selector: "attr.os.family=debian" };
    expect(await seen(bySystem)).toEqual([]);
    const attributes = { "os.family": "debian" };
    agent.say({ type: "attributes", attributes, collected_at: new Date(0).toISOString() });
    while ((await change.attributes(nodeId)).collected_at === null) await nextTurn();
    expect(await seen(bySystem)).toHaveLength(1);
  });

  test("shows who comes and goes, and when it was last there", async () => {
    const agent = await join("web");
    await change.approve(agent.nodeId);
    const [before] = await seen();
    expect(before).toMatchObject({ connected: true });
    expect(await seen({ search: "WEB" })).toMatchObject([{ connected: true }]);
    await server.clock.advance(20_000);
    const gone = happens("agent.disconnected");
    agent.socket.close(1000, "bye");
    await gone;
    const [after] = await seen();
    expect(after).toMatchObject({ connected: false });
    expect(Date.parse(after!.last_seen_at)).toBeGreaterThan(Date.parse(before!.last_seen_at));
    expect(await seen({ search: "WEB" })).toEqual([after]);
  });

  test("shows others to whoever asks for another page, and never what a caller may not see", async () => {
    for (const hostname of ["a", "b", "c"]) await change.approve((await join(hostname)).nodeId);
    const all = await seen();
    expect(all.map(({ name }) => name).toSorted()).toEqual(["a", "b", "c"]);
    expect(Object.keys(all[0]!)).not.toContain("box_public_key");
    expect(await seen({ search: "b" })).toMatchObject([{ name: "b" }]);
  });
});

test("whoever hears of a change sees it in the list", async () => {
  const { agents } = server.orchestrator;
  const { nodeId } = await join("web");
  await agents.list(systemCaller);
  const listed = new Promise<Agent[]>((resolve) => {
    server.orchestrator.listen((event) => {
      if (event.event_type === "agent.approved")
        void agents.list(systemCaller).then(({ items }) => resolve(items));
    });
  });
  await change.approve(nodeId);
  expect(await listed).toMatchObject([{ status: "approved" }]);
});

/** Takes its time, as a disk does. */
class SlowStorage extends MemoryStorage {
  override async commit(...given: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    return super.commit(...given);
  }
}

test("a list that was read while a change was on its way is not kept", async () => {
  await using slow = await createTestOrchestrator({ storage: new SlowStorage() });
  const { agents } = slow.orchestrator;
  const { nodeId: node_id } = await join("web", slow);
  const approving = agents.setStatus(systemCaller, { node_id, status: "approved" });
  let isApproved = false;
  void approving.then(() => (isApproved = true));
  while (!isApproved) {
    await agents.list(systemCaller);
    await nextTurn();
  }
  expect((await agents.list(systemCaller)).items).toMatchObject([{ status: "approved" }]);
});
