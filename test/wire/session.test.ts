import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxMessageBytes } from "../../lib/wire/limits.ts";
import { messageLimits } from "../../lib/wire/message-limits.ts";
import { agentExamples, orchestratorExamples, streamExample } from "./support/examples.ts";
import { codeOf, establish } from "./support/peers.ts";

const log = (message: string) => ({ type: "log" as const, level: "info" as const, message });

/** A result whose text takes about so many bytes. */
function resultOf(sizeBytes: number) {
  const text = "x".repeat(250_000);
  const piece = { module: "m", resource_id: "r", stream: "stdout" as const, text, truncated: false };
  const example = agentExamples.find((message) => message.type === "result");
  if (example?.type !== "result") throw new Error("no example");
  return { ...example, output: Array.from({ length: Math.ceil(sizeBytes / text.length) }, () => piece) };
}

describe("a session", () => {
  test("carries every message to the other side unchanged", () => {
    const { agent, orchestrator } = establish();
    for (const message of orchestratorExamples) {
      expect(orchestrator.encode(message).map((frame) => agent.decode(frame))).toEqual([
        { kind: "message", message },
      ]);
    }
    for (const message of agentExamples) {
      expect(agent.encode(message).map((frame) => orchestrator.decode(frame))).toEqual([
        { kind: "message", message },
      ]);
    }
  });

  test("cuts a message above 256 KiB into fragments, and puts it together again", () => {
    const { agent, orchestrator } = establish();
    const message = resultOf(600_000);
    const frames = agent.encode(message);
    expect(frames.length).toBe(3);
    expect(Math.max(...frames.map((frame) => frame.length))).toBeLessThanOrEqual(256 * 1024 + 17);
    expect(frames.map((frame) => orchestrator.decode(frame))).toEqual([
      null,
      null,
      { kind: "message", message },
    ]);
  });

  test("makes well-formed text of output that was cut inside a character", () => {
    const { agent, orchestrator } = establish();
    const [frame] = agent.encode(log("a\ud83d \\ud83d 😀"));
    expect(orchestrator.decode(frame ?? "")).toEqual({ kind: "message", message: log("a\ufffd \\ud83d 😀") });
  });

  test("makes well-formed text of every half of a character, and leaves what only looks like one", () => {
    const { agent, orchestrator } = establish();
    const halves = Array.from({ length: 0x800 }, (_, at) => String.fromCharCode(0xd800 + at));
    // Two halves in their order are a character: each stands alone here, also behind what JSON escapes.
    const around = ["a", "\\", '"', "\n", "\\u", "\ud7ff", "\ue000", "\u0007", "😀"];
    for (const before of around)
      for (let from = 0; from < halves.length; from += 128) {
        const some = halves.slice(from, from + 128);
        const [frame] = agent.encode(log(some.map((half) => before + half).join(".")));
        const message = some.map(() => `${before}\ufffd`).join(".");
        expect(orchestrator.decode(frame ?? "")).toEqual({ kind: "message", message: log(message) });
      }
  });

  test("carries as much of a stream at once as a frame holds", () => {
    const { agent, orchestrator } = establish();
    const { streamId } = streamExample;
    const data = new Uint8Array((1 << 20) - 33).fill(7);
    expect(codeOf(() => orchestrator.decode(agent.encodeStream(streamId, data)))).toEqual({
      kind: "stream",
      streamId,
      data,
    });
    expect(codeOf(() => agent.encodeStream(streamId, new Uint8Array((1 << 20) - 32)))).toBe(
      "PAYLOAD_TOO_LARGE",
    );
  });

  // Limits below 8 KiB are kept by the schemas of what is sent.
  const counted = Object.entries(messageLimits).filter(
    ([, { bytes }]) => bytes >= 8 * 1024 && bytes < maxMessageBytes,
  );

  // The signature of a command is no part of its text.
  test.each(counted)(
    "sends a %s whose text is as long as one may be, and none that is longer",
    (type, { bytes }) => {
      const isOurs = orchestratorExamples.some((example) => example.type === type);
      const { agent, orchestrator } = establish();
      const sender = isOurs ? orchestrator : agent;
      const fill = (size: number) => ({ type, pad: "x".repeat(size - `{"type":"${type}","pad":""}`.length) });
      expect(sender.encode(fill(bytes) as never).length).toBeGreaterThan(0);
      expect(codeOf(() => sender.encode(fill(bytes + 1) as never))).toBe("PAYLOAD_TOO_LARGE");
    },
  );

  test("does not encode what is above 16 MiB", () => {
    const { agent } = establish();
    expect(codeOf(() => agent.encode(resultOf(17_000_000)))).toBe("PAYLOAD_TOO_LARGE");
    expect(codeOf(() => agent.encodeStream(streamExample.streamId, new Uint8Array(1 << 20)))).toBe(
      "PAYLOAD_TOO_LARGE",
    );
  });
});

describe("what breaks the protocol", () => {
  test.each([
    ["an unknown type", { type: "dance" }],
    ["an unknown field", { ...log("x"), extra: 1 }],
    ["a claimed identity", { ...log("x"), node_id: "00".repeat(16) }],
    ["a text above its limit", log("x".repeat(4097))],
    ["a member named __proto__", JSON.parse('{"type":"log","level":"info","message":"x","__proto__":{}}')],
    ["a list in place of an object", [log("x")]],
    ["null", null],
  ])("%s", (_, message) => {
    const { agent, orchestrator } = establish();
    const [frame] = agent.encode(message as never);
    expect(codeOf(() => orchestrator.decode(frame ?? ""))).toBe("PROTOCOL_ERROR");
  });

  test("a text frame, an empty one, and one above 1 MiB", () => {
    for (const frame of ["{}", new Uint8Array(), new Uint8Array(16), new Uint8Array((1 << 20) + 1)]) {
      expect(codeOf(() => establish().orchestrator.decode(frame))).toBe("PROTOCOL_ERROR");
    }
  });

  test("a frame that is repeated", () => {
    const { agent, orchestrator } = establish();
    const [frame] = agent.encode(log("once"));
    orchestrator.decode(frame ?? "");
    expect(codeOf(() => orchestrator.decode(frame ?? ""))).toBe("PROTOCOL_ERROR");
  });

  test("frames in another order, or one left out", () => {
    const { agent, orchestrator } = establish();
    agent.encode(log("first"));
    const [second] = agent.encode(log("second"));
    expect(codeOf(() => orchestrator.decode(second ?? ""))).toBe("PROTOCOL_ERROR");
  });

  test("a frame that is sent back to who made it", () => {
    const { agent } = establish();
    const [frame] = agent.encode(log("mirror"));
    expect(codeOf(() => agent.decode(frame ?? ""))).toBe("PROTOCOL_ERROR");
  });

  test("any byte of any frame changed", () => {
    const messages = fc.constantFrom(...agentExamples);
    fc.assert(
      fc.property(messages, fc.nat(), fc.integer({ min: 1, max: 255 }), (message, at, flip) => {
        const { agent, orchestrator } = establish();
        const frame = (agent.encode(message)[0] ?? new Uint8Array()).slice();
        frame[at % frame.length] = (frame[at % frame.length] ?? 0) ^ flip;
        expect(codeOf(() => orchestrator.decode(frame))).toBe("PROTOCOL_ERROR");
      }),
      { numRuns: 100 },
    );
  });
});
