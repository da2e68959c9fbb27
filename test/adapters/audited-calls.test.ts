/** Walks the router: whatever an operator changes, or reads of a recording, leaves an event in the audit log, with the request of it. */
import { expect, test } from "vitest";
import { systemCaller, toTimestamp } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { playExampleCalls } from "../support/example-calls.ts";
import { mutations } from "../support/mutations.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { serve } from "../support/server.ts";

/** Mutations that leave no event, and why. */
const unaudited: Readonly<Record<string, string>> = {
  "auth.challenge": "changes nothing: the sign-in, or its refusal, is told",
  "agents.refreshAttributes": "asks an agent for what it tells anyway",
  "terminals.ticket": "changes nothing: whoever attaches with it to another's terminal is told",
  "notifications.read": "what is read is the reader's own business",
  "notifications.readAll": "what is read is the reader's own business",
};

/** What only reads, and leaves an event all the same. */
const auditedReads = ["terminals.transcript"];

/** Mutations that tell of what they did to something: the examples have nothing for them. */
const tellingOfSomething = ["agents.rejectPending", "audit.prune"];

test(
  "every mutation, and who reads a recording, leaves an event with the id of its request",
  { timeout: 60_000 },
  async () => {
    const silent = new Set<string>();
    const called = new Set<string>();
    await playExampleCalls((procedure, audited) => {
      called.add(procedure);
      if (!audited.some(({ request_id }) => request_id !== undefined)) silent.add(procedure);
    });
    expect(mutations.filter((name) => !called.has(name))).toEqual([]);
    expect(mutations.filter((name) => silent.has(name)).toSorted()).toEqual(
      [...Object.keys(unaudited), ...tellingOfSomething].toSorted(),
    );
    const reads = [...called].filter((name) => !mutations.includes(name));
    expect(reads.filter((name) => !silent.has(name))).toEqual(auditedReads);
  },
);

test("what is done to many, or to the log itself, is told once there is something to do", async () => {
  await using fleet = await createTestOrchestrator();
  await using server = await serve(fleet.orchestrator);
  const { token } = await fleet.signIn("Admin", "ada");
  await using _agent = await connectScriptedAgent(fleet);
  expect(await server.rest("POST", "/pending-agents/reject", { token, body: {} })).toMatchObject({
    status: 200,
  });
  await fleet.clock.advance(1_000);
  const before = toTimestamp(fleet.clock.now());
  const events = () => fleet.orchestrator.audit.list(systemCaller);
  const expectTold = async (event_type: string) =>
    expect((await events()).items).toContainEqual(
      expect.objectContaining({
        event_type,
        actor: expect.objectContaining({ name: "ada" }) as object,
        request_id: expect.any(String) as string,
      }),
    );
  await expectTold("agent.rejected");
  expect(await server.rest("DELETE", `/audit?before=${before}`, { token })).toMatchObject({ status: 200 });
  await expectTold("audit.pruned");
});
