/**
 * A fleet whose agents, operators and all that is made for them come and go, told the folder for the machines: prints, as JSON, the places in
 * memory that grew with each of them. In a process of its own, so that nothing but the fleet is in its memory.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createApp } from "../../adapters/h3/app.ts";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import { createAgent } from "../../lib/agent/agent.ts";
import { systemCaller } from "../../lib/callers/caller.ts";
import { createTestOrchestrator } from "../../lib/testing/test-orchestrator.ts";
import { settleAll } from "./deferred.ts";
import { grownBy, heldBy } from "./heap-growth.ts";
import { listenOnLoopback, send } from "./http.ts";
import { RecordingLogger } from "./recording-logger.ts";
import { MemorySecretsKey } from "./secrets-key.ts";

/** How often everything comes and goes before a look at the memory. */
const times = 5;

/** Classes that keep what they are to keep: a storage, what came last, and caches that have a bound. */
const keeping = [
  "MemoryStorage",
  "FakeClock",
  "EventTail",
  "InboxIndex",
  "BoundedCache",
  "RateLimiter",
  "TimeBudgets",
  // What it knows goes with what that is known of.
  "WeakMap",
];

/** Places that have a bound of their own: public keys that were imported, what was kept in the last hour, answers of the last day. */
const bounded = [".verifyKeys.", ".contents.#claimedAt.", ".idempotency.#service.#kept."];

const [folder = ""] = process.argv.slice(2);
const test = await createTestOrchestrator({ driftIntervalSeconds: 0, secretsKey: new MemorySecretsKey() });
const { orchestrator: fleet, clock } = test;
const app = createApp({
  router: appRouter,
  createContext: createContextFactory(fleet),
  isReady: () => true,
  logger: new RecordingLogger(),
});
await using server = await listenOnLoopback(app);

/** Lets a fake minute pass, and all that it begins. */
async function later(): Promise<void> {
  await clock.advance(60_000);
  await settleAll();
}

async function comeAndGo(n: number): Promise<void> {
  const [root, stateDir] = [join(folder, `root-${n}`), join(folder, `state-${n}`)];
  mkdirSync(root, { recursive: true });
  const agent = createAgent({ root, stateDir, clock, dial: async () => test.transport.connect() });
  await agent.start();
  while (test.events.every(({ event_type }) => event_type !== "agent.connected")) await settleAll();
  const node_id = agent.nodeId!;
  const selector = `role=r${n}`;
  await fleet.agents.setStatus(systemCaller, { node_id, status: "approved", name: `agent-${n}` });
  await fleet.agents.tags.replace(systemCaller, { node_id, tags: { role: `r${n}` } });
  await work(n, { node_id, selector });
  await settings(n, selector);
  await people(n);
  await later();
  await fleet.assignments.remove(systemCaller, { name: `a${n}` });
  await fleet.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await agent.stop();
  await settleAll();
  await fleet.agents.remove(systemCaller, { node_id });
  await fleet.modules.remove(systemCaller, { name: `m${n}` });
  await later();
  test.events.length = 0;
}

/** What is done on a machine. */
async function work(n: number, { node_id, selector }: { node_id: string; selector: string }): Promise<void> {
  const name = `a${n}`;
  const module = (content: string): string =>
    `name: m${n}\nresources:\n  - { id: f, type: file, path: /f, content: ${content} }\n`;
  await fleet.modules.upload(systemCaller, { content: module("one") });
  await fleet.modules.upload(systemCaller, { content: module("two") });
  const schedule = { cron: "0 3 * * *" };
  await fleet.assignments.create(systemCaller, { name, selector, modules: [`m${n}`], schedule });
  const planned = await fleet.rollouts.plan(systemCaller, { name });
  const applied = await fleet.rollouts.apply(systemCaller, { name });
  const run = await fleet.runs.start(systemCaller, { node_ids: [node_id], command: "true" });
  for (const { status } of [planned, applied, run]) if (status !== "succeeded") throw new Error(status);
  await fleet.operations.plan(systemCaller, { node_id });
  await fleet.drift.check(systemCaller, { node_id });
  await fleet.agents.list(systemCaller, { selector });
}

/** What is set for some agents, and taken away again. */
async function settings(n: number, selector: string): Promise<void> {
  const [starts, ends] = [clock.now() - 1_000, clock.now() + 60_000].map((ms) => new Date(ms).toISOString());
  const window = { reason: `w${n}`, mode: "freeze", selector, starts_at: starts!, ends_at: ends! } as const;
  const { id } = await fleet.maintenanceWindows.create(systemCaller, window);
  await fleet.maintenanceWindows.remove(systemCaller, { id });
  const limit = { name: `t${n}`, metric: "load.5", condition: "above", value: 1, selector } as const;
  const threshold = await fleet.thresholds.create(systemCaller, limit);
  await fleet.thresholds.remove(systemCaller, { id: threshold.id });
  const config = { url: `https://hooks.example/${n}` };
  const channel = await fleet.channels.create(systemCaller, { name: `c${n}`, type: "webhook", config });
  await fleet.channels.remove(systemCaller, { id: channel.id });
  await fleet.secrets.create(systemCaller, { name: `s${n}`, value: "hidden" });
  await fleet.secrets.remove(systemCaller, { name: `s${n}` });
  const token = await fleet.enrolmentTokens.create(systemCaller, { name: `e${n}` });
  await fleet.enrolmentTokens.revoke(systemCaller, { id: token.id });
}

/** An operator signs in, calls over HTTP, and is removed. */
async function people(n: number): Promise<void> {
  const operator = await test.signIn("Operator", `operator-${n}`);
  const headers = { authorization: `Bearer ${operator.token}`, "idempotency-key": `"key-${n}"` };
  const body = JSON.stringify({ selector: `role=r${n}`, command: "true" });
  const json = { "content-type": "application/json" };
  const made = await send(server.port, {
    method: "POST",
    path: "/api/v1/state/runs",
    headers: { ...headers, ...json },
    body,
  });
  if (made.status >= 300) throw new Error(made.text);
  for (const path of ["/api/v1/agents", "/api/v1/notifications", "/api/v1/no"])
    await send(server.port, { path, headers });
  const stream = fleet.events.stream(operator.caller);
  await stream.next();
  await stream.return();
  await fleet.operators.remove(systemCaller, { operator_id: operator.operator_id });
}

/** Where there is more than before for each time that everything came and went. */
async function grown(): Promise<string[]> {
  // What is made at first use has its place then.
  for (let n = 0; n < times; n += 1) await comeAndGo(n);
  const before = await heldBy("Orchestrator", keeping);
  for (let n = 0; n < times; n += 1) await comeAndGo(100 + n);
  return grownBy(times, before, await heldBy("Orchestrator", keeping));
}

const places = await grown();
console.log(JSON.stringify(places.filter((place) => !bounded.some((each) => place.includes(each)))));
await test[Symbol.asyncDispose]();
process.exit(0);
