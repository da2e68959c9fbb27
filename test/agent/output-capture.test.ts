import { describe, expect, it } from "vitest";
import type { OperationResult } from "../../lib/agent/operation-journal.ts";
import { OperationProgress } from "../../lib/agent/operation-progress.ts";
import { OutputCapture } from "../../lib/agent/output-capture.ts";
import { fitResult } from "../../lib/agent/result-size.ts";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import type { AgentMessage } from "../../lib/wire/messages.ts";
import { uuid } from "../support/agent-commands.ts";

const kib = 1024;

describe("OutputCapture", () => {
  it("keeps each stream of each resource by itself", () => {
    const capture = new OutputCapture();
    capture.add(piece("a", "stdout", "one "));
    capture.add(piece("a", "stderr", "bad"));
    capture.add(piece("b", "stdout", "two"));
    capture.add(piece("a", "stdout", "more"));
    expect(capture.all().map((each) => `${each.resource_id} ${each.stream} ${each.text}`)).toEqual([
      "a stdout one more",
      "a stderr bad",
      "b stdout two",
    ]);
  });

  it("hands out what is new, once", () => {
    const capture = new OutputCapture();
    capture.add(piece("a", "stdout", "one"));
    expect(capture.takeFresh().map((each) => each.text)).toEqual(["one"]);
    expect(capture.takeFresh()).toEqual([]);
    capture.add(piece("a", "stdout", "two"));
    expect(capture.takeFresh().map((each) => each.text)).toEqual(["two"]);
  });

  it.each([
    ["that is no UTF-8", [0x63, 0x61, 0x66, 0xe9], "caf\ufffd"],
    ["with the first byte of a character", [0x61, 0xc3], "a\ufffd"],
    ["with three bytes of four", [0x61, 0xf0, 0x9f, 0x98], "a\ufffd"],
    ["with a whole one", [0x61, 0xc3, 0xa9], "aé"],
  ])("tells of an output %s that something was there", (_name, bytes, text) => {
    for (const pieces of [[bytes], bytes.map((byte) => [byte])])
      for (const redactor of [undefined, new Redactor([Buffer.from("a secret of ours")])]) {
        const capture = new OutputCapture(redactor);
        for (const each of pieces) capture.add({ ...piece("a", "stdout", ""), bytes: Uint8Array.from(each) });
        expect(capture.all()).toEqual([{ ...capture.all()[0], text, truncated: false }]);
      }
  });

  it("joins a character that came in two pieces", () => {
    const capture = new OutputCapture();
    const bytes = Buffer.from("é");
    capture.add({ ...piece("a", "stdout", ""), bytes: bytes.subarray(0, 1) });
    capture.add({ ...piece("a", "stdout", ""), bytes: bytes.subarray(1) });
    expect(capture.all()[0]?.text).toBe("é");
  });

  it("marks a stream of more than 256 KiB, and drops the rest", () => {
    const capture = new OutputCapture();
    capture.add(piece("a", "stdout", "x".repeat(256 * kib)));
    expect(capture.all()[0]).toMatchObject({ truncated: false });
    capture.add(piece("a", "stdout", "y"));
    capture.add(piece("a", "stdout", "z"));
    expect(capture.all()[0]).toMatchObject({ truncated: true, text: "x".repeat(256 * kib) });
  });

  it.each<[what: string, fill: (capture: OutputCapture) => void]>([
    ["a stream", (capture) => capture.add(piece("a", "stdout", "x".repeat(256 * kib + 1)))],
    [
      "an operation",
      (capture) => {
        for (let at = 0; at < 30; at += 1) capture.add(piece(`r${at}`, "stdout", "x".repeat(200 * kib)));
        capture.add(piece("a", "stdout", "x"));
      },
    ],
  ])(
    "tells nothing more of what is past the bound of %s, and does not forget that it was cut",
    (_what, fill) => {
      const capture = new OutputCapture(new Redactor([Buffer.from("a secret of ours")]));
      fill(capture);
      capture.takeFresh();
      const before = capture.all().find(({ resource_id }) => resource_id === "a");
      for (const text of ["y", "", "a secret", "z"]) capture.add(piece("a", "stdout", text));
      expect(capture.takeFresh()).toEqual([]);
      const after = capture.all().find(({ resource_id }) => resource_id === "a");
      expect([after, after?.truncated]).toEqual([before, true]);
    },
  );

  it("keeps no more than 4 MiB of an operation", () => {
    const capture = new OutputCapture();
    for (let at = 0; at < 30; at += 1) capture.add(piece(`r${at}`, "stdout", "x".repeat(200 * kib)));
    const kept = capture.all().reduce((sum, each) => sum + each.text.length, 0);
    expect(kept).toBe(4096 * kib);
    expect(capture.all().at(-1)).toMatchObject({ text: "", truncated: true });
  });

  it("keeps 4,000 streams, as many as one result can carry", () => {
    const capture = new OutputCapture();
    for (let at = 0; at <= 4_000; at += 1) capture.add(piece(`r${at}`, "stdout", "x"));
    const kept = capture.all();
    expect([kept.length, kept.at(-1)?.resource_id]).toEqual([4_000, "r3999"]);
  });

  it("tells nothing of a secret that the bound cuts in two", () => {
    const capture = new OutputCapture(new Redactor([Buffer.from("c4nary-of-a-bound")]));
    capture.add(piece("a", "stdout", `${"x".repeat(256 * kib - 8)}c4nary-of-a-bound`));
    const [kept] = capture.all();
    expect(kept).toMatchObject({ truncated: true });
    expect(kept?.text).not.toContain("c4n");
  });
});

describe("OperationProgress", () => {
  it("gathers for a quarter of a second", async () => {
    const { progress, clock, sent } = begin();
    progress.addResult(resultNumber(1));
    await clock.advance(249);
    progress.addResult(resultNumber(2));
    expect(sent).toEqual([]);
    await clock.advance(1);
    expect(sent).toMatchObject([
      { type: "progress", results: [{ resource_id: "r1" }, { resource_id: "r2" }] },
    ]);
    await clock.advance(1000);
    expect(sent).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it("sends full messages at once", () => {
    const { progress, sent, clock } = begin();
    for (let at = 0; at < 1001; at += 1) progress.addResult(resultNumber(at));
    expect(sent.map((each) => (each.type === "progress" ? each.results.length : 0))).toEqual([500, 500]);
    progress.flush();
    expect(sent).toHaveLength(3);
    expect(clock.pendingTimers).toBe(0);
  });

  it("splits the output of many resources", () => {
    const { progress, sent } = begin();
    for (let at = 0; at < 150; at += 1) progress.addOutput(piece(`r${at}`, "stdout", "x"));
    progress.flush();
    expect(sent.map((each) => (each.type === "output" ? each.output.length : 0))).toEqual([100, 50]);
  });
});

describe("fitResult", () => {
  it("leaves alone what fits", () => {
    const result = resultWith([resultNumber(1)], "text");
    expect(fitResult(result)).toEqual(result);
  });

  it("takes away the diffs first, and keeps the output", () => {
    const fitted = fitResult(
      resultWith(
        Array.from({ length: 2000 }, (_, at) => bigResult(at)),
        "text",
      ),
    );
    expect(fitted.results).toHaveLength(2000);
    expect(fitted.results[0]?.changes).toEqual([{ property: "content", before: "a", after: "b" }]);
    expect(fitted.output[0]?.text).toBe("text");
  });

  it("takes the values from a result that the protocol would refuse", () => {
    const change = { property: "content", before: null, after: "b", diff: "d".repeat(30_000) };
    const fitted = fitResult(
      resultWith([{ ...resultNumber(1), changes: [change] }, resultNumber(2)], "text"),
    );
    expect(fitted.results).toEqual([resultNumber(1), resultNumber(2)]);
  });

  it("ends below what a message can carry, whatever the values", () => {
    const value = "v".repeat(50_000);
    const results = Array.from({ length: 500 }, (_, at) => ({
      ...bigResult(at),
      changes: [{ property: "content", before: value, after: value }],
    }));
    const fitted = fitResult(resultWith(results, "text"));
    expect(Buffer.byteLength(JSON.stringify(fitted))).toBeLessThan(16 * 1024 * kib);
    expect(fitted.results).toHaveLength(500);
    expect(fitted.results[0]).toMatchObject({ outcome: "changed", changes: [] });
    expect(fitted.output[0]).toMatchObject({ text: "", truncated: true });
  });
});

type Result = OperationResult["results"][number];

function piece(
  resource_id: string,
  stream: "stdout" | "stderr",
  text: string,
): Parameters<OutputCapture["add"]>[0] {
  return { module: "web", resource_id, stream, bytes: Buffer.from(text) };
}

function begin(): { progress: OperationProgress; clock: FakeClock; sent: AgentMessage[] } {
  const clock = new FakeClock();
  const sent: AgentMessage[] = [];
  return {
    progress: new OperationProgress(uuid(1), { clock, sink: (message) => void sent.push(message) }),
    clock,
    sent,
  };
}

function resultNumber(at: number): Result {
  return {
    resource_id: `r${at}`,
    module: "web",
    type: "file",
    identity: `/r${at}`,
    outcome: "changed",
    action: "update",
    changes: [],
    caused_by: [],
    attempts: 1,
    duration_ms: 1,
  };
}

function bigResult(at: number): Result {
  const change = { property: "content", before: "a", after: "b", diff: "d".repeat(16 * kib) };
  return { ...resultNumber(at), changes: [change] };
}

function resultWith(results: Result[], text: string): OperationResult {
  return {
    type: "result",
    operation_id: uuid(1),
    status: "succeeded",
    results,
    output: [{ module: "web", resource_id: "r1", stream: "stdout", text, truncated: false }],
    started_at: "2030-01-01T00:00:00.000Z",
    finished_at: "2030-01-01T00:00:01.000Z",
    duration_ms: 1,
  };
}
