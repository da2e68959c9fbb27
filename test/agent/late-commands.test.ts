/** Which commands an agent refuses that come after their time, and which are news that is true at any time; and which it answers. */
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../lib/agent/agent.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { orchestratorMessageSchema, type AgentMessage } from "../../lib/wire/messages.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { RecordedMachine } from "../support/recorded-machine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestOrchestrator } from "../support/test-orchestrator.ts";

const motd = resource({ type: "file", path: "/motd", content: "hello" });
const script = resource({ id: "run", type: "script", run: "true", creates: "/done" });
const run = { operation_id: uuid(1), timeout_seconds: 60 };
const terminal = { session_id: uuid(2) };
const size = { cols: 80, rows: 24 };

type Sent = Parameters<TestOrchestrator["send"]>[1];

/** An example of each, and what becomes of it after its time: the code of the refusal, "taken", or "unanswered". */
const commands: [command: Sent, late: string][] = [
  [{ type: "apply", ...run, resources: [motd], allow_empty: false }, "COMMAND_EXPIRED"],
  [{ type: "plan", ...run, resources: [motd] }, "COMMAND_EXPIRED"],
  [{ type: "check", ...run, resources: [motd] }, "COMMAND_EXPIRED"],
  [{ type: "run", ...run, resources: [script] }, "COMMAND_EXPIRED"],
  [{ type: "forget", operation_id: uuid(1), names: ["web"] }, "COMMAND_EXPIRED"],
  [{ type: "cancel", operation_id: uuid(1) }, "COMMAND_EXPIRED"],
  [{ type: "attributes.refresh" }, "COMMAND_EXPIRED"],
  [{ type: "terminal.open", ...terminal, ...size, operator: "ada" }, "COMMAND_EXPIRED"],
  [{ type: "terminal.resize", ...terminal, ...size }, "taken"],
  [{ type: "terminal.close", ...terminal }, "taken"],
  [{ type: "config", metrics_interval_seconds: 60 }, "taken"],
  [{ type: "ack", operation_id: uuid(1) }, "unanswered"],
  [{ type: "metrics.ack", through: "2030-01-01T00:00:00.000Z" }, "unanswered"],
  [{ type: "terminal.grant", ...terminal, through: 1 }, "unanswered"],
];

test("knows every command that there is", () => {
  const types = orchestratorMessageSchema.options.map(({ shape }) => shape.type.value);
  expect(commands.map(([{ type }]) => type).sort()).toEqual(types.filter((type) => type !== "status").sort());
});

/** What the agent answers to a command whose time is over so many milliseconds from now. */
async function answerTo(command: Sent, leftMs: number): Promise<{ answer: string; heard: AgentMessage[] }> {
  const clock = new FakeClock();
  const orchestrator = new TestOrchestrator(clock);
  await orchestrator.start();
  const agent = createAgent({
    stateDir: temporaryFolder(),
    host: new MemoryHost({ programs: { "/bin/sh": () => ({ exitCode: 0 }) } }),
    measured: new RecordedMachine(),
    // What is refused for another reason than its time shows that it was looked at.
    terminals: false,
    clock,
    dial: async () => orchestrator.transport.connect(),
  });
  onTestFinished(() => agent.stop());
  await agent.start();
  await orchestrator.happened("connected");
  await orchestrator.take("attributes");
  orchestrator.inbox.length = 0;
  const not_after = new Date(clock.now() + leftMs).toISOString();
  const id = await orchestrator.send(agent.nodeId, { ...command, not_after } as Sent);
  // Answered in any case, and behind it.
  const last = await orchestrator.send(agent.nodeId, { type: "config", metrics_interval_seconds: 60 });
  await orchestrator.take("reply", (reply) => reply.id === last);
  const heard = orchestrator.inbox;
  const replies = heard.flatMap((message) => (message.type === "reply" ? [message] : []));
  expect(replies.every((reply) => reply.id === id)).toBe(true);
  expect(replies.length).toBeLessThanOrEqual(1);
  const answer = replies.length === 0 ? "unanswered" : (replies[0]?.error?.code ?? "taken");
  return { answer, heard: heard.filter(({ type }) => type !== "reply") };
}

test.each(commands.map(([command, late]) => [command.type, late, command] as const))(
  "%s, late: %s, and on its last millisecond as ever",
  async (type, late, command) => {
    const found = await answerTo(command, -1);
    expect(found.answer).toBe(late);
    if (late === "COMMAND_EXPIRED") expect(found.heard).toEqual([]);
    const inTime: Record<string, string> = {
      cancel: "NOT_FOUND",
      "terminal.open": "TERMINALS_REFUSED",
    };
    const expected = inTime[type] ?? (late === "COMMAND_EXPIRED" ? "taken" : late);
    expect((await answerTo(command, 0)).answer).toBe(expected);
  },
);
