/**
 * A process is killed after each of its commits while it makes a call with an idempotency key; the next process is sent the call
 * again. Either nothing had happened, and it is done now, or it is answered as it would have been: never twice, and never "unknown".
 */
import { describe, expect, test } from "vitest";
import { nodeCrypto, OrchestratorError, systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { nodeIdOf } from "../../lib/crypto/encoding.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { Answer } from "../support/http.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { serve } from "../support/server.ts";

/** The storage of a process that can be killed: from then on nothing more is written. */
class MortalStorage extends MemoryStorage {
  commitsLeft = Infinity;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    if (this.commitsLeft <= 0) throw new OrchestratorError("STORAGE_CLOSED");
    this.commitsLeft -= 1;
    return super.commit(writes, options);
  }
}

const adminKey = keyOf();
const otherKey = keyOf();
const agentKeys = { signing: nodeCrypto.createSigningKeyPair(), box: nodeCrypto.createExchangeKeyPair() };
const agentId = nodeIdOf(agentKeys.signing.publicKey, nodeCrypto);

function keyOf(): string {
  return toHex(nodeCrypto.createSigningKeyPair().publicKey);
}

interface Verb {
  name: string;
  method: string;
  path: string;
  body?: unknown;
  /** What an operator decided about the agent before. */
  decided?: "rejected";
  /** Whether the server was restored before, and waits. */
  isRestored?: true;
  /** The event that it leaves, once. */
  event: string;
}

const module = "name: web\nresources: []\n";
const assignment = { name: "extra", selector: "*", modules: ["base"] };
const schedule = { cron: "0 3 * * *" };

/** Every call that is one commit; a session that was signed out can ask nothing again. */
const verbs: Verb[] = [
  {
    name: "operators.add",
    method: "POST",
    path: "/operators",
    body: { username: "new", public_key: adminKey },
    event: "operator.added",
  },
  {
    name: "operators.setRole",
    method: "PATCH",
    path: "/operators/:other",
    body: { role: "Viewer" },
    event: "operator.roleChanged",
  },
  { name: "operators.remove", method: "DELETE", path: "/operators/:other", event: "operator.removed" },
  {
    name: "modules.upload",
    method: "POST",
    path: "/modules",
    body: { content: module },
    event: "module.uploaded",
  },
  { name: "modules.remove", method: "DELETE", path: "/modules/unused", event: "module.removed" },
  {
    name: "assignments.create",
    method: "POST",
    path: "/assignments",
    body: assignment,
    event: "assignment.created",
  },
  {
    name: "assignments.create",
    method: "POST",
    path: "/assignments",
    body: { ...assignment, schedule },
    event: "assignment.created",
  },
  {
    name: "assignments.update",
    method: "PUT",
    path: "/assignments/all",
    body: { selector: "a=b" },
    event: "assignment.updated",
  },
  {
    name: "assignments.update",
    method: "PUT",
    path: "/assignments/all",
    body: { schedule },
    event: "assignment.updated",
  },
  { name: "assignments.remove", method: "DELETE", path: "/assignments/all", event: "assignment.removed" },
  {
    name: "agents.setStatus",
    method: "POST",
    path: "/agents/:agent",
    body: { status: "approved", name: "one" },
    event: "agent.approved",
  },
  {
    name: "agents.remove",
    method: "DELETE",
    path: `/agents/${agentId}`,
    decided: "rejected",
    event: "agent.removed",
  },
  {
    name: "tags.replace",
    method: "PUT",
    path: "/agents/:agent/tags",
    body: { tags: { a: "b" } },
    event: "agent.tagsChanged",
  },
  {
    name: "tags.set",
    method: "PUT",
    path: "/agents/:agent/tags/c",
    body: { value: "d" },
    event: "agent.tagsChanged",
  },
  { name: "tags.remove", method: "DELETE", path: "/agents/:agent/tags/old", event: "agent.tagsChanged" },
  {
    name: "audit.setRetention",
    method: "PUT",
    path: "/audit/retention",
    body: { retention_days: 5 },
    event: "audit.retentionChanged",
  },
  {
    name: "restores.resume",
    method: "POST",
    path: "/restore/resume",
    isRestored: true,
    event: "storage.resumed",
  },
];

interface Scene {
  storage: MortalStorage;
  product: TestOrchestrator;
  token: string;
  otherId: string;
}

/** A process with something of everything. */
async function begin(
  data: MemoryData,
  { decided, isRestored }: Pick<Verb, "decided" | "isRestored"> = {},
): Promise<Scene> {
  const storage = new MortalStorage({ data });
  const product = await createTestOrchestrator({ storage });
  const { orchestrator } = product;
  const { token } = await product.signIn("Admin");
  const { operator_id: otherId } = await orchestrator.operators.add(systemCaller, {
    username: "other",
    public_key: otherKey,
  });
  for (const name of ["base", "unused"])
    await orchestrator.modules.upload(systemCaller, { content: `name: ${name}\nresources: []\n` });
  await orchestrator.assignments.create(systemCaller, { name: "all", selector: "*", modules: ["base"] });
  const agent = await connectScriptedAgent(product, agentKeys, new FakeClock());
  await orchestrator.agents.tags.set(systemCaller, { node_id: agent.nodeId, key: "old", value: "x" });
  if (decided) await orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: decided });
  await agent[Symbol.asyncDispose]();
  if (isRestored !== true) return { storage, product, token, otherId };
  await orchestrator.stop();
  data.restored = { restore_id: "first", restored_at: "2030-01-01T00:00:00.000Z" };
  const restored = new MortalStorage({ data });
  return { storage: restored, product: await createTestOrchestrator({ storage: restored }), token, otherId };
}

async function call(product: TestOrchestrator, { token, otherId }: Scene, verb: Verb): Promise<Answer> {
  await using server = await serve(product.orchestrator);
  const { method, body } = verb;
  const path = verb.path.replace(":other", otherId).replace(":agent", agentId);
  const headers = {
    authorization: `Bearer ${token}`,
    "idempotency-key": "once",
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  return await server.call({
    method,
    path: `/api/v1${path}`,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function eventsOf(product: TestOrchestrator, type: string): Promise<number> {
  const { items } = await product.orchestrator.audit.list(systemCaller, { limit: 100 });
  return items.filter(({ event_type }) => event_type === type).length;
}

describe.each(verbs)("$name $method $path", (verb) => {
  test("killed after any of its commits, is done once and answered as ever", async () => {
    const unharmed = await begin(new MemoryData(), verb);
    const before = await eventsOf(unharmed.product, verb.event);
    const wanted = await call(unharmed.product, unharmed, verb);
    expect(wanted.status).toBeLessThan(300);
    await unharmed.product.orchestrator.stop();

    let answeredFromClaim = 0;
    // What goes on beside the call commits, too: how many there are is known when one of them is spared.
    let isSpared = false;
    for (let survived = 0; !isSpared; survived++) {
      const data = new MemoryData();
      const scene = await begin(data, verb);
      scene.storage.commitsLeft = survived;
      await call(scene.product, scene, verb);
      await scene.product.orchestrator.stop();
      isSpared = scene.storage.commitsLeft > 0;

      await using next = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
      const done = await eventsOf(next, verb.event);
      const answer = await call(next, scene, verb);
      expect([survived, answer.status]).toEqual([survived, wanted.status]);
      expect(withoutChance(answer, scene)).toEqual(withoutChance(wanted, unharmed));
      expect(await eventsOf(next, verb.event)).toBe(before + 1);
      if (done === before + 1) answeredFromClaim += 1;
      // And so on.
      expect((await call(next, scene, verb)).text).toBe(answer.text);
      expect(await eventsOf(next, verb.event)).toBe(before + 1);
    }
    expect(answeredFromClaim).toBeGreaterThan(0);
  });
});

/** The answer, but for ids that are made by chance and what an agent that has just left is seen as. */
function withoutChance({ text }: Answer, { otherId }: Scene): unknown {
  const plain = text
    .replaceAll(otherId, "other")
    .replace(/"(connected|last_seen_at|epoch)":(\{[^}]*\}|[^,}]+)/g, '"$1":0');
  return plain === "" ? null : JSON.parse(plain);
}

/** Calls that go on behind their first commit, and are answered at once. */
const started: (Verb & { stands: string })[] = [
  {
    name: "state.applyNow",
    method: "POST",
    path: "/agents/:agent/apply",
    body: { modules: ["base"], when_offline: "queue", wait_seconds: 0 },
    event: "operation.requested",
    stands: "queued",
  },
  {
    name: "assignments.applyNow",
    method: "POST",
    path: "/assignments/all/apply",
    body: { rollout: { when_offline: "queue" }, wait_seconds: 0 },
    event: "rollout.started",
    stands: "running",
  },
  {
    name: "runs.start",
    method: "POST",
    path: "/state/runs",
    body: { selector: "*", command: ["true"], rollout: { when_offline: "queue" }, wait_seconds: 0 },
    event: "rollout.started",
    stands: "running",
  },
];

test.each(started)(
  "a call of $name that is killed after any of its commits is made once and answered with what it made",
  async (verb) => {
    let isSpared = false;
    for (let survived = 0; !isSpared; survived++) {
      const data = new MemoryData();
      const scene = await begin(data);
      const { orchestrator } = scene.product;
      await orchestrator.agents.setStatus(systemCaller, { node_id: agentId, status: "approved" });
      scene.storage.commitsLeft = survived;
      await call(scene.product, scene, verb);
      await orchestrator.stop();
      isSpared = scene.storage.commitsLeft > 0;
      await using next = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
      const answer = await call(next, scene, verb);
      expect([survived, answer.status, answer.json]).toMatchObject([survived, 202, { status: verb.stands }]);
      expect((await call(next, scene, verb)).text).toBe(answer.text);
      expect(await eventsOf(next, verb.event)).toBe(1);
    }
  },
);
