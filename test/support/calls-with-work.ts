/** The calls for which the examples have nothing to do, or not much of it, where there is something: each on a server of its own. */
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { ExampleSession, type MomentObserver } from "./example-calls.ts";
import { connectScriptedAgent } from "./scripted-agent.ts";
import { MemorySecretsKey } from "./secrets-key.ts";
import { serve } from "./server.ts";

const dayMs = 86_400_000;

/** Plays them, and tells of each before it is made. */
export async function playCallsWithWork(before: MomentObserver): Promise<void> {
  const play = async (
    { clock, storage }: { clock: FakeClock; storage: MemoryStorage },
    make: (session: ExampleSession, product: TestOrchestrator) => Promise<unknown>,
  ): Promise<void> => {
    const secretsKey = new MemorySecretsKey();
    await using product = { ...(await createTestOrchestrator({ clock, storage, secretsKey })), clock };
    await using server = await serve(product.orchestrator);
    const session = new ExampleSession(product, server, () => {});
    session.before = (call) => before({ ...call, storage, secretsKey, machine: null });
    await make(session, product);
  };
  const clock = new FakeClock();
  await play({ clock, storage: await restoredWithSchedules(clock) }, async (session) => {
    await session.signIn();
    await session.call("restores.resume");
  });
  await play({ clock, storage: new MemoryStorage({ clock }) }, async (session, product) => {
    for (let at = 0; at < 3; at += 1) {
      const agent = await connectScriptedAgent(product, undefined, clock);
      await agent.link.stop();
    }
    await session.signIn();
    await session.call("agents.rejectPending", {}, {});
  });
  await play({ clock, storage: new MemoryStorage({ clock }) }, async (session, product) => {
    for (const retention_days of [101, 102, 103])
      await product.orchestrator.audit.setRetention(systemCaller, { retention_days });
    const before = new Date(clock.now() + dayMs).toISOString();
    await clock.advance(60 * dayMs);
    await session.signIn();
    await session.call("audit.prune", { before });
  });
}

/** What is left of a server two days after its backup was restored, with two assignments that were due meanwhile. */
async function restoredWithSchedules(clock: FakeClock): Promise<MemoryStorage> {
  await using backed = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock }) });
  const { modules, assignments } = backed.orchestrator;
  await modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  const daily = { selector: "os=linux", modules: ["web"], schedule: { cron: "0 3 * * *" } };
  for (const name of ["first", "second"]) await assignments.create(systemCaller, { name, ...daily });
  const data = (backed.storage as MemoryStorage).restoredCopy();
  await clock.advance(2 * dayMs);
  return new MemoryStorage({ clock, data });
}
