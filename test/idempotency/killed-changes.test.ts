/**
 * A process is killed after its first commits while it changes what it keeps, by a call with an idempotency key: the next process that is sent
 * the call again answers it as it would have been answered, and has made the change once.
 */
import { expect, test } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { Answer } from "../support/http.ts";
import { serve } from "../support/server.ts";

/** The storage of a process that can be killed: from then on nothing more is written. */
class KilledStorage extends MemoryStorage {
  commitsLeft = Infinity;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    if (this.commitsLeft <= 0) throw new OrchestratorError("STORAGE_CLOSED");
    this.commitsLeft -= 1;
    return super.commit(writes, options);
  }
}

const secretsKey = new Uint8Array(32).fill(7);

type Call = [method: string, path: string, body?: unknown];

const threshold = { name: "disk", metric: "load.1", condition: "above", value: 5 };
const window = { selector: "*", mode: "freeze", reason: "works", ends_at: "2099-01-01T00:00:00.000Z" };
const channel = { name: "hook", type: "webhook", config: { url: "https://hook.example/" } };

/** Each call, after what must be there for it, which has the id that stands in its path. */
const calls: Record<string, { before?: Call; call: Call }> = {
  "enrolmentTokens.revoke": {
    before: ["POST", "/enrolment-tokens", {}],
    call: ["DELETE", "/enrolment-tokens/:id"],
  },
  "thresholds.create": { call: ["POST", "/thresholds", threshold] },
  "thresholds.update": {
    before: ["POST", "/thresholds", threshold],
    call: ["PUT", "/thresholds/:id", { value: 6 }],
  },
  "thresholds.remove": { before: ["POST", "/thresholds", threshold], call: ["DELETE", "/thresholds/:id"] },
  "maintenanceWindows.create": { call: ["POST", "/maintenance-windows", window] },
  "maintenanceWindows.update": {
    before: ["POST", "/maintenance-windows", window],
    call: ["PUT", "/maintenance-windows/:id", { reason: "more works" }],
  },
  "maintenanceWindows.remove": {
    before: ["POST", "/maintenance-windows", window],
    call: ["DELETE", "/maintenance-windows/:id"],
  },
  "channels.create": { call: ["POST", "/channels", channel] },
  "channels.update": {
    before: ["POST", "/channels", channel],
    call: ["PUT", "/channels/:id", { name: "other" }],
  },
  "channels.remove": { before: ["POST", "/channels", channel], call: ["DELETE", "/channels/:id"] },
  "secrets.create": { call: ["POST", "/secrets", { name: "db", value: "hunter2" }] },
  "secrets.update": {
    before: ["POST", "/secrets", { name: "db", value: "hunter2" }],
    call: ["PUT", "/secrets/db", { value: "hunter3" }],
  },
  "secrets.remove": {
    before: ["POST", "/secrets", { name: "db", value: "hunter2" }],
    call: ["DELETE", "/secrets/db"],
  },
  "notifications.updatePreferences": {
    call: ["PUT", "/notifications/preferences", { min_severity: "critical" }],
  },
  "notifications.readAll": { call: ["POST", "/notifications/read-all"] },
};

async function send(
  product: TestOrchestrator,
  token: string,
  [method, path, body]: Call,
  key?: string,
): Promise<Answer> {
  await using server = await serve(product.orchestrator);
  return await server.call({
    method,
    path: `/api/v1${path}`,
    headers: {
      authorization: `Bearer ${token}`,
      ...(key !== undefined && { "idempotency-key": key }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

async function typesIn({ orchestrator }: TestOrchestrator): Promise<string[]> {
  const { items } = await orchestrator.audit.list(systemCaller, { limit: 100 });
  return items.map(({ event_type }) => event_type);
}

async function begin(before: Call | undefined) {
  const data = new MemoryData();
  const storage = new KilledStorage({ data });
  const product = await createTestOrchestrator({ storage, secretsKey });
  const { token } = await product.signIn("Admin");
  const made = before && (await send(product, token, before));
  const id = (made?.json as { id?: string } | undefined)?.id ?? "";
  return { data, storage, product, token, id };
}

/** The answer, but for ids that are made by chance. */
function withoutChance({ text }: Answer, id: string): unknown {
  const plain = (id === "" ? text : text.replaceAll(id, "it")).replace(/"id":"[^"]*"/, '"id":"it"');
  return plain === "" ? null : JSON.parse(plain);
}

test.each(Object.entries(calls))("%s", async (_, { before, call: [method, path, body] }) => {
  const unharmed = await begin(before);
  const callOf = ({ id }: { id: string }): Call => [method, path.replace(":id", id), body];
  const known = await typesIn(unharmed.product);
  const wanted = await send(unharmed.product, unharmed.token, callOf(unharmed), "once");
  expect(wanted.status, wanted.text).toBeLessThan(300);
  const told = (await typesIn(unharmed.product)).slice(0, -known.length);
  await unharmed.product.orchestrator.stop();

  let isSpared = false;
  for (let survived = 0; !isSpared; survived += 1) {
    const scene = await begin(before);
    scene.storage.commitsLeft = survived;
    await send(scene.product, scene.token, callOf(scene), "once");
    await scene.product.orchestrator.stop();
    isSpared = scene.storage.commitsLeft > 0;

    await using next = await createTestOrchestrator({
      storage: new MemoryStorage({ data: scene.data }),
      secretsKey,
    });
    for (let again = 0; again < 2; again += 1) {
      const answer = await send(next, scene.token, callOf(scene), "once");
      expect([survived, answer.status, withoutChance(answer, scene.id)]).toEqual([
        survived,
        wanted.status,
        withoutChance(wanted, unharmed.id),
      ]);
    }
    const types = await typesIn(next);
    for (const type of new Set(told)) {
      const count = (among: readonly string[]): number => among.filter((each) => each === type).length;
      expect([survived, type, count(types)]).toEqual([survived, type, count(known) + count(told)]);
    }
  }
});
