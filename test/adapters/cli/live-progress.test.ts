import { expect, it } from "vitest";
import type { Operation, OperationWatchItem, ResourceResult } from "fleetwright";
import { asOnTerminal, LiveProgress } from "../../../adapters/cli/live-progress.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";

const operation = {
  operation_id: "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11",
  agent_name: "web-1",
  kind: "apply",
  status: "running",
} as Operation;
const ended: OperationWatchItem = {
  type: "ended",
  operation: { ...operation, status: "succeeded", counts: { changed: 1 } as Operation["counts"] },
};
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
const output = (text: string, replaces = false): OperationWatchItem => ({
  type: "output",
  replaces,
  output: [{ module: "web", resource_id: "say", stream: "stdout", text, truncated: false }],
});

it("shows whole lines, however their pieces come, and at the end what is left of the last", () => {
  const progress = new LiveProgress();
  const items = [output("hel"), output("lo\nwor"), output("ld\nand"), ended];
  expect(items.map((item) => progress.tell(item)).join("")).toBe(
    [
      "    say | hello",
      "    say | world",
      "    say | and",
      "web-1: apply succeeded (1 changed)",
      `  operation ${operation.operation_id}`,
      "",
    ].join("\n"),
  );
});

it("shows of a line that was written over what a terminal shows at its end", () => {
  const progress = new LiveProgress();
  const text = "read\r(Reading ... 5%\r(Reading ... 100%\r(Reading ... done)\r\r\nplain\r\n\u001b[2Jx\r";
  expect([output(text), output("\ry\n")].map((item) => progress.tell(item)).join("")).toBe(
    ["    say | (Reading ... done)", "    say | plain", "    say | y", ""].join("\n"),
  );
});

it("shows each resource and each line of output once, however often a connection breaks off", () => {
  const items: OperationWatchItem[] = [
    { type: "operation", operation },
    output("one\n"),
    // The connection broke off here: everything is told again.
    { type: "operation", operation },
    output("one\n"),
    { type: "resources", resources: [result("first")] },
    output("two\n"),
    { type: "operation", operation },
    { type: "resources", resources: [result("first"), result("say")] },
    output("one\ntwo\nthree\n", true),
    ended,
  ];
  const progress = new LiveProgress();
  expect(items.map((item) => progress.tell(item)).join("")).toBe(
    [
      "web-1: apply",
      "    say | one",
      "  ~ script        web/first                       run      web",
      "    say | two",
      "  ~ script        web/say                         run      web",
      "    say | three",
      "web-1: apply succeeded (1 changed)",
      `  operation ${operation.operation_id}`,
      "",
    ].join("\n"),
  );
});

it("says of an operation that was cut off that it has no results, not that there was nothing to do", () => {
  const counts = { total: 0, unchanged: 0, changed: 0, would_change: 0, failed: 0, skipped: 0 };
  const tell = (status: Operation["status"]): string | undefined =>
    new LiveProgress()
      .tell({ type: "ended", operation: { ...operation, status, counts } as Operation })
      .split("\n")[0];
  expect(tell("interrupted")).toBe("web-1: apply interrupted (no results)");
  expect(tell("succeeded")).toBe("web-1: apply succeeded (nothing to do)");
});

it.each([
  ["", ""],
  ["\r\r", ""],
  ["10%\r20%\r\r", "20%"],
  ["10%\r", "10%"],
  ["\ra", "a"],
  ["a\r\rb", "b"],
])("of the line %j a terminal leaves %j to read", (line, left) => {
  expect(asOnTerminal(line)).toBe(left);
});

it("is not held up by what a machine prints", () => {
  expect(cpuMsOf(() => asOnTerminal(`${"\r".repeat(65_536)}x`))).toBeLessThan(200);
});
