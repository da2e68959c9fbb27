/** Terminals that never come to be: nothing is left of them that looks open. */
import { describe, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { codesOf } from "../../adapters/rest/openapi/problems.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

async function setUp(terminalSessions = 100, storage = new MemoryStorage()) {
  const test = await createTestOrchestrator({ terminalSessions, storage });
  const agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const open = () => test.orchestrator.terminals.open(systemCaller, { node_id });
  const list = async () => (await test.orchestrator.terminals.list(systemCaller)).items;
  return { test, agent, open, list };
}

describe("a terminal", () => {
  it("that the agent refuses has ended, with its event, and what comes of it late does no harm", async () => {
    const { test, agent, open, list } = await setUp();
    await using _test = test;
    await using _agent = agent;
    const opening = open();
    opening.catch(() => {});
    const { id, session_id } = await agent.next("terminal.open");
    const error = { code: "TERMINALS_REFUSED", message: "No terminals here." };
    agent.link.send({ type: "reply", id, error });
    await expect(opening).rejects.toMatchObject({ code: "TERMINALS_REFUSED" });
    expect(await list()).toMatchObject([
      { session_id, status: "interrupted", close_reason: "refused", recording: "missing" },
    ]);
    expect(test.events.map(({ event_type }) => event_type).slice(-2)).toEqual([
      "terminal.opened",
      "terminal.interrupted",
    ]);
    agent.link.sendStream(session_id, new Uint8Array(10));
    agent.link.send({ type: "terminal.closed", session_id, reason: "exit" });
    agent.link.send({ type: "log", level: "info", message: "still here" });
    await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(true));
    expect(test.events.filter(({ event_type }) => event_type === "agent.refused")).toEqual([]);
  });

  it.each([
    ["TERMINALS_REFUSED", "TERMINALS_REFUSED"],
    ["TERMINALS_UNAVAILABLE", "TERMINALS_UNAVAILABLE"],
    ["TOO_MANY_TERMINALS", "TOO_MANY_TERMINALS"],
    ["HOST_ERROR", "HOST_ERROR"],
    ["COMMAND_EXPIRED", "COMMAND_EXPIRED"],
    ["COMMAND_UNSUPPORTED", "COMMAND_UNSUPPORTED"],
    // What an agent has no business to say of a caller, and what nobody here knows.
    ["UNAUTHENTICATED", "PEER_ERROR"],
    ["INTERNAL", "PEER_ERROR"],
    ["A_NEWER_CODE", "PEER_ERROR"],
  ] as const)("that the agent refuses with %s is refused with %s, in its words", async (said, told) => {
    const { test, agent, open, list } = await setUp();
    await using _test = test;
    await using _agent = agent;
    const opening = open();
    opening.catch(() => {});
    const { id } = await agent.next("terminal.open");
    agent.link.send({ type: "reply", id, error: { code: said, message: "Not here." } });
    await expect(opening).rejects.toMatchObject({ code: told, message: "Not here." });
    expect(await list()).toMatchObject([{ close_reason: "refused" }]);
    // Whoever may see that refusal finds it in the description of the call.
    const [name, procedure] = restProcedures(appRouter).find(([each]) => each === "terminals.open")!;
    expect([...codesOf(name, procedure)]).toContain(told);
  });

  it("of which the agent says nothing for 30 seconds has ended, and the agent is told to close it", async () => {
    const { test, agent, open, list } = await setUp();
    await using _test = test;
    await using _agent = agent;
    const opening = open();
    opening.catch(() => {});
    const { session_id } = await agent.next("terminal.open");
    await test.clock.advance(30_000);
    await expect(opening).rejects.toMatchObject({ code: "AGENT_TIMEOUT" });
    expect(await agent.next("terminal.close")).toMatchObject({ session_id });
    expect(await list()).toMatchObject([{ session_id, status: "interrupted" }]);
  });

  it("of an agent that is not there has ended at once, and nothing waits for that agent any more", async () => {
    const { test, agent, open, list } = await setUp();
    await using _test = test;
    await agent.link.stop();
    await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(false));
    await expect(open()).rejects.toMatchObject({ code: "AGENT_OFFLINE" });
    expect(await list()).toMatchObject([{ status: "interrupted", close_reason: "refused" }]);
    // A rejected promise that nobody awaits any more ends a process, and fails this test.
    await test.clock.advance(60_000);
    await settleAll();
  });

  it("of an agent that leaves while the command is sent has ended", async () => {
    const { test, agent, open, list } = await setUp();
    await using _test = test;
    const gone = deferred();
    test.transport.send = async () => {
      await agent.link.stop();
      await gone.promise;
    };
    const opening = open();
    opening.catch(() => {});
    await waitFor(() => expect(test.transport.isConnected(agent.nodeId)).toBe(false));
    await settleAll();
    gone.resolve();
    await expect(opening).rejects.toMatchObject({ code: "AGENT_OFFLINE" });
    expect(await list()).toMatchObject([{ status: "interrupted", close_reason: "agent_lost" }]);
  });

  it("takes one place while it is opened: as many can be opened at once as may be open", async () => {
    const { test, agent, open } = await setUp(4);
    await using _test = test;
    await using _agent = agent;
    const opening: Promise<unknown>[] = [];
    const asked: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      opening.push(open());
      asked.push(
        (await Promise.race([agent.next("terminal.open"), opening[n]!.then(() => expect.fail())])).id,
      );
    }
    await expect(open()).rejects.toMatchObject({ code: "TOO_MANY_TERMINALS" });
    for (const id of asked) agent.link.send({ type: "reply", id });
    await Promise.all(opening);
    await expect(open()).rejects.toMatchObject({ code: "TOO_MANY_TERMINALS" });
  });

  it("that its agent says is closed before it says that it is open has no recording that nobody ends", async () => {
    let writers = 0;
    class CountingStorage extends MemoryStorage {
      override async openBlob(id: string) {
        const writer = await super.openBlob(id);
        const close = writer.close.bind(writer);
        writers += 1;
        writer.close = async () => {
          writers -= 1;
          return close();
        };
        return writer;
      }
    }
    const { test, agent, open, list } = await setUp(100, new CountingStorage());
    await using _test = test;
    await using _agent = agent;
    const opening = open();
    const { id, session_id } = await agent.next("terminal.open");
    agent.link.send({ type: "terminal.closed", session_id, reason: "exit" });
    agent.link.send({ type: "reply", id });
    await opening;
    await settleAll();
    expect(await list()).toMatchObject([{ session_id, status: "closed", recording: "missing" }]);
    expect(writers).toBe(0);
  });

  it("takes its place before anything is waited for: as many as may be open are, also when all come at once", async () => {
    const { test, agent, open } = await setUp(3);
    await using _test = test;
    await using _agent = agent;
    const codes = Array.from({ length: 5 }, () =>
      open().then(
        () => "opened",
        (error: { code: string }) => error.code,
      ),
    );
    for (let n = 0; n < 3; n += 1)
      agent.link.send({ type: "reply", id: (await agent.next("terminal.open")).id });
    expect((await Promise.all(codes)).toSorted()).toEqual([
      "TOO_MANY_TERMINALS",
      "TOO_MANY_TERMINALS",
      "opened",
      "opened",
      "opened",
    ]);
  });

  it("is remembered by its end for a thousand others: its agent may be late so long, and no longer", async () => {
    const { test, agent, open } = await setUp();
    await using _test = test;
    await using _agent = agent;
    const ended: string[] = [];
    for (let n = 0; n < 1_001; n += 1) {
      const opening = open();
      const { id, session_id } = await agent.next("terminal.open");
      agent.link.send({ type: "reply", id, error: { code: "TERMINALS_REFUSED", message: "Not here." } });
      await expect(opening).rejects.toMatchObject({ code: "TERMINALS_REFUSED" });
      ended.push(session_id);
    }
    const refused = (): unknown[] => test.events.filter(({ event_type }) => event_type === "agent.refused");
    for (const session_id of ended.slice(1)) agent.link.sendStream(session_id, new Uint8Array(1));
    await settleAll();
    expect(refused()).toEqual([]);
    agent.link.sendStream(ended[0]!, new Uint8Array(1));
    await waitFor(() => expect(refused()).toHaveLength(1));
  });
});
