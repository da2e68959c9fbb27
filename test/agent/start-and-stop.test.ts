/** An agent that is stopped while it starts, or that could not start: it can be stopped all the same, and holds nothing then. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { AgentOptions } from "../../lib/agent/agent-options.ts";
import { createAgent, type AgentProgram } from "../../lib/agent/agent.ts";
import { StateLock } from "../../lib/agent/state-lock.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { uuid } from "../support/agent-commands.ts";
import { deferred, settle } from "../support/deferred.ts";
import { RecordedMachine } from "../support/recorded-machine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestOrchestrator } from "../support/test-orchestrator.ts";

/** An agent that nobody answers. */
function agentIn(stateDir: string, options: Partial<AgentOptions> = {}) {
  const clock = new FakeClock();
  let dials = 0;
  const dial = () => {
    dials += 1;
    return Promise.reject(new Error("Nobody is there."));
  };
  const host = new MemoryHost();
  const way = options.discover === undefined ? { dial } : {};
  const agent = createAgent({ stateDir, clock, host, terminals: false, ...way, ...options });
  return { agent, clock, dials: () => dials };
}

/** It ends, tells so, however often that is asked, and the next agent may have the folder. */
async function expectEnded(agent: AgentProgram, stateDir: string): Promise<void> {
  await agent.stop();
  await agent.done;
  await agent.stop({ now: true });
  expect(agent.status).toBe("offline");
  new StateLock(stateDir).release();
}

test("stops before it was started, and is not started any more", async () => {
  const stateDir = temporaryFolder();
  const { agent, dials } = agentIn(stateDir);
  await expectEnded(agent, stateDir);
  await expect(agent.start()).rejects.toMatchObject({ code: "INTERNAL" });
  expect(dials()).toBe(0);
});

/** How many turns the start has had when the agent is told to stop: from before it reads anything to after it dials. */
test.each([0, 1, 2, 3, 5, 8, 20])("stops %i turns after its start began", async (turns) => {
  const stateDir = temporaryFolder();
  const { agent, clock, dials } = agentIn(stateDir);
  const started = agent.start();
  for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
  await expectEnded(agent, stateDir);
  await started;
  const before = dials();
  await clock.advance(120_000);
  expect(dials()).toBe(before);
  expect(clock.pendingTimers).toBe(0);
});

test("stops while it ends what an earlier life left running, and reads nothing more", async () => {
  const stateDir = temporaryFolder();
  const ended = deferred();
  const host = Object.assign(new MemoryHost(), {
    endLeftPrograms: async () => {
      await ended.promise;
      return [];
    },
  });
  const { agent } = agentIn(stateDir, { host });
  const started = agent.start();
  const stopped = expectEnded(agent, stateDir);
  await settle();
  // What is to be ended is ended before another agent may have the folder.
  expect(() => new StateLock(stateDir)).toThrow();
  ended.resolve();
  await Promise.all([started, stopped]);
  expect(existsSync(join(stateDir, "identity.json"))).toBe(false);
});

/** Why an agent can't start, in the order in which it comes to that. */
const obstacles: [name: string, code: string, put: (stateDir: string) => Promise<Partial<AgentOptions>>][] = [
  [
    "what ran before can't be ended",
    "INTERNAL",
    async () => ({
      host: Object.assign(new MemoryHost(), {
        endLeftPrograms: () => Promise.reject(Object.assign(new Error("no"), { code: "INTERNAL" })),
      }),
    }),
  ],
  [
    "its keys are damaged",
    "STORAGE_CORRUPT",
    async (stateDir) => (writeFileSync(join(stateDir, "identity.json"), "{"), {}),
  ],
  [
    "what it applied is damaged",
    "STORAGE_CORRUPT",
    async (stateDir) => (writeFileSync(join(stateDir, "applied.json"), "{"), {}),
  ],
  ["the key that it was given is none", "KEY_REFUSED", async () => ({ orchestratorKey: "none" })],
  [
    "announcements can't be heard",
    "ADDRESS_IN_USE",
    async () => {
      // Of both families: an agent makes do with one.
      const taken = createSocket("udp6");
      onTestFinished(() => void taken.close());
      taken.bind({ port: 0, exclusive: true });
      await once(taken, "listening");
      return { discover: { port: taken.address().port } };
    },
  ],
];

test.each(obstacles)("stops though it could not start: %s", async (_name, code, put) => {
  const stateDir = temporaryFolder();
  const { agent, clock } = agentIn(stateDir, await put(stateDir));
  await expect(agent.start()).rejects.toMatchObject({ code });
  new StateLock(stateDir).release();
  await expectEnded(agent, stateDir);
  expect(clock.pendingTimers).toBe(0);
});

test.each(obstacles.slice(0, -1))("stops while it fails to start: %s", async (_name, code, put) => {
  const stateDir = temporaryFolder();
  const { agent } = agentIn(stateDir, await put(stateDir));
  const failure = agent.start().catch((error: unknown) => error);
  await expectEnded(agent, stateDir);
  expect(await failure).toMatchObject({ code });
});

test("waits for nothing but its next dial and its next sample while it has no connection", async () => {
  const clock = new FakeClock();
  const orchestrator = new TestOrchestrator(clock);
  await orchestrator.start();
  const idle = clock.pendingTimers;
  const dial = () => Promise.resolve(orchestrator.transport.connect());
  const measured = new RecordedMachine();
  const { agent } = agentIn(temporaryFolder(), { clock, measured, dial });
  onTestFinished(() => agent.stop());
  await agent.start();
  await orchestrator.happened("connected");
  const operation = { operation_id: uuid(1), resources: [], timeout_seconds: 60 };
  await orchestrator.send(agent.nodeId, { type: "plan", ...operation });
  // None of these is acknowledged: each is waited for.
  await orchestrator.take("attributes");
  await orchestrator.take("result");
  await clock.advance(20_000);
  await orchestrator.take("metrics");
  expect(clock.pendingTimers).toBeGreaterThan(idle + 4);
  orchestrator.admission = "pending";
  await orchestrator.transport.disconnect(agent.nodeId ?? "", "come again");
  await orchestrator.happened("disconnected");
  await settle();
  expect(clock.pendingTimers).toBe(idle + 2);
  await agent.stop();
  expect(clock.pendingTimers).toBe(idle);
});
