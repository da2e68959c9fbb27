/** What viewers and terminals take of what there is only so much of, they give back: also where they come to nothing. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent } from "../support/scripted-agent.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { terminalsElsewhere } from "../support/terminals-elsewhere.ts";
import { waitFor } from "../support/wait-for.ts";

/** More than a session may hold open. */
const many = 33;

it("a viewer that comes too early, however often, holds no stream of its session", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { terminals, agents } = test.orchestrator;
  const { nodeId: node_id } = agent;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  const { caller } = await test.signIn("Operator");
  const opening = terminals.open(caller, { node_id });
  const { id, session_id } = await agent.next("terminal.open");
  const attach = async (ticket: string): Promise<TestViewer> => {
    const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
    viewer.say({ type: "attach", ticket });
    return viewer;
  };
  for (let times = 0; times < many; times += 1) {
    const { ticket } = await terminals.ticket(caller, { session_id });
    const early = await attach(ticket);
    expect(await early.next("refused")).toMatchObject({ code: "INVALID_TRANSITION" });
  }
  agent.link.send({ type: "reply", id });
  const viewer = await attach((await opening).ticket);
  await viewer.next("opened");
});

it("a viewer of a terminal that another process holds gives its stream back when it leaves", async () => {
  await using scene = await terminalsElsewhere();
  const { caller } = await scene.test.signIn("Operator", "ada");
  const { terminals, nodeId: node_id } = scene;
  const { session_id } = await terminals.open(caller, { node_id, shell: "/bin/sh" });
  for (let times = 0; times < many + 1; times += 1) {
    const { ticket } = await terminals.ticket(caller, { session_id });
    const viewer = scene.attach(session_id, ticket);
    await viewer.next("opened");
    viewer.socket.close(1000, "");
    await waitFor(async () => expect((await terminals.get(systemCaller, { session_id })).viewers).toBe(0));
  }
});

it("a terminal that was asked for at another process gives its place back when it has ended", async () => {
  await using scene = await terminalsElsewhere({ terminalSessions: 1 });
  const { terminals, nodeId: node_id } = scene;
  for (let times = 0; times < 3; times += 1) {
    const { session_id } = await terminals.open(systemCaller, { node_id, shell: "/bin/sh" });
    await expect(terminals.open(systemCaller, { node_id })).rejects.toMatchObject({
      code: "TOO_MANY_TERMINALS",
    });
    await terminals.close(systemCaller, { session_id });
  }
});
