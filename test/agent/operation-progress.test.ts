import { expect, it } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { OperationProgress } from "../../lib/agent/operation-progress.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import type { AgentMessage } from "../../lib/wire/messages.ts";

const result = (resource_id: string): ResourceResult => ({
  resource_id,
  module: "web",
  type: "script",
  identity: `web/${resource_id}`,
  outcome: "changed",
  action: "run",
  changes: [],
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
});

function describeMessage(message: AgentMessage): string {
  if (message.type === "progress") return message.results.map((each) => each.resource_id).join(" ");
  if (message.type === "output") return message.output.map(({ text }) => `"${text}"`).join(" ");
  return message.type;
}

it("tells output and results in the order in which they came, gathered for a quarter of a second", async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const progress = new OperationProgress("0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11", {
    clock,
    sink: (message) => void told.push(describeMessage(message)),
  });
  const print = (resource_id: string, text: string): void =>
    progress.addOutput({ module: "web", resource_id, stream: "stdout", bytes: Buffer.from(text) });
  progress.addResult(result("folder"));
  progress.addResult(result("file"));
  expect(told).toEqual([]);
  print("first", "1");
  print("first", "2");
  progress.addResult(result("first"));
  progress.addResult(result("second"));
  expect(told).toEqual(["folder file", '"12"']);
  await clock.advance(250);
  expect(told).toEqual(["folder file", '"12"', "first second"]);
  print("third", "3");
  await clock.advance(250);
  expect(told.at(-1)).toBe('"3"');
  expect(clock.pendingTimers).toBe(0);
});

it("tells no more than 500 results, or 100 pieces of output, in one message, and does not wait with so many", async () => {
  const clock = new FakeClock();
  const told: number[] = [];
  const progress = new OperationProgress("0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11", {
    clock,
    sink: (message) =>
      void told.push(
        message.type === "progress"
          ? message.results.length
          : message.type === "output"
            ? message.output.length
            : -1,
      ),
  });
  for (let count = 0; count < 499; count += 1) progress.addResult(result(`${count}`));
  expect(told).toEqual([]);
  for (let count = 499; count < 600; count += 1) progress.addResult(result(`${count}`));
  expect(told).toEqual([500]);
  for (let count = 0; count < 250; count += 1)
    progress.addOutput({
      module: "web",
      resource_id: `${count}`,
      stream: "stdout",
      bytes: Buffer.from("x"),
    });
  await clock.advance(250);
  expect(told).toEqual([500, 100, 100, 100, 50]);
  expect(clock.pendingTimers).toBe(0);
});
