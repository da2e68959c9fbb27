import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { messageLimits } from "../../lib/wire/message-limits.ts";
import { agentMessageSchema, orchestratorMessageSchema } from "../../lib/wire/messages.ts";
import { parseMessage, parseScanned } from "../../lib/wire/parse-json.ts";
import { scanText } from "../../lib/wire/scan-text.ts";
import { checkSize, toUnread } from "../../lib/wire/unread-message.ts";
import { hostileMessages } from "../support/hostile-messages.ts";
import { agentExamples, orchestratorExamples } from "./support/examples.ts";
import { codeOf } from "./support/peers.ts";

/** Reads as the orchestrator and as the agent do: "read" or the code of the refusal; what else is thrown comes through. */
function outcomesOf(text: Uint8Array): unknown[] {
  return [agentMessageSchema, orchestratorMessageSchema].map((schema) => {
    try {
      parseScanned(schema, toUnread(text).text);
      return "read";
    } catch (error) {
      if (isOrchestratorError(error)) return error.code;
      throw error;
    }
  });
}

function expectReadOrRefused(text: Uint8Array): void {
  for (const outcome of outcomesOf(text)) expect(["read", "PROTOCOL_ERROR"]).toContain(outcome);
}

describe("scanText", () => {
  test.each([
    ["an object", '{"a":[1,"x",null]}', 5],
    ["separators in strings", '[",,[[{{:\\",",1]', 3],
    ["a number alone", "1", 1],
    ["a long string with escapes", `["${"x".repeat(200)}\\"${"y".repeat(100)}\\\\",2]`, 3],
  ])("counts the values of %s", (_, text, nodes) => {
    expect(scanText(toUtf8(text), 1000).nodes).toBe(nodes);
  });

  test.each([
    ["first", '{"type":"log","operation_id":"o"}', "log", "o"],
    ["last, with blanks", '{"level" : {"type":"x"} ,\n "type" : "log" }', "log", null],
    ["twice: the last counts", '{"type":"a","type":"b"}', "b", null],
    ["as a value of another field", '{"a":"type","b":"log"}', null, null],
    ["as something else than a text", '{"type":1,"x":"log"}', null, null],
    ["in a list", '["type","log"]', null, null],
  ])("reads a type that comes %s", (_, text, type, operationId) => {
    expect(scanText(toUtf8(text), 1000).head).toEqual({ type, operationId });
  });

  test("never counts less than the parser finds, and finds the same type", () => {
    const count = (value: unknown): number =>
      typeof value === "object" && value !== null
        ? Object.values(value).reduce<number>((sum, item) => sum + count(item), 1)
        : 1;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.string(), (value, type) => {
        const text = toUtf8(JSON.stringify({ value, type }).replaceAll(/\\ud[89a-f]../g, "?"));
        const scanned = scanText(text, 1_000_000);
        expect(scanned.nodes).toBeGreaterThanOrEqual(count(JSON.parse(new TextDecoder().decode(text))));
        if (/^[a-z ]{0,60}$/.test(type)) expect(scanned.head.type).toBe(type);
      }),
    );
  });

  test("finds the end of every string where the parser does", () => {
    const piece = fc.constantFrom(
      "x".repeat(60),
      "y",
      "\\n",
      '\\"',
      "\\\\",
      "\\ud83d\\ude00",
      "é".repeat(30),
      ",",
      "[",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = `["${pieces.join("")}",1,"${pieces.join("")}"]`;
        expect((JSON.parse(text) as unknown[]).length).toBe(3);
        expect(scanText(toUtf8(text), 10).nodes).toBe(4);
      }),
    );
  });
});

describe("a hostile message", () => {
  test.each(Object.entries(hostileMessages))("of %s is read or refused", (_, make) => {
    for (const outcome of outcomesOf(toUtf8(make(200_000))))
      expect(["read", "PROTOCOL_ERROR"]).toContain(outcome);
  });

  test("of any JSON, any bytes, or cut and changed examples is read or refused", () => {
    const examples = [...agentExamples, ...orchestratorExamples].map((message) => JSON.stringify(message));
    const changed = fc
      .tuple(fc.constantFrom(...examples), fc.nat(), fc.nat(20), fc.string({ unit: "binary" }))
      .map(([text, at, cut, put]) => {
        const place = at % text.length;
        return toUtf8(text.slice(0, place) + put + text.slice(place + cut));
      });
    const typed = fc
      .tuple(fc.constantFrom(...Object.keys(messageLimits)), fc.dictionary(fc.string(), fc.jsonValue()))
      .map(([type, rest]) => toUtf8(JSON.stringify({ ...rest, type })));
    fc.assert(
      fc.property(fc.oneof(changed, typed, fc.uint8Array(), fc.json().map(toUtf8)), expectReadOrRefused),
      {
        numRuns: 500,
      },
    );
  });

  test("with a number that JSON can't carry, or a member named __proto__, anywhere is refused", () => {
    const reply = (value: string): string =>
      `{"type":"reply","id":"01890000-0000-7000-8000-000000000001","error":{"code":"HOST_ERROR","message":"x","details":{"a":${value}}}}`;
    expect(parseMessage(agentMessageSchema, reply("[1e300]"))).toMatchObject({ type: "reply" });
    for (const value of ["1e400", "[[-1e400]]", '{"__proto__":1}', '[{"a":{"__proto__":{}}}]']) {
      expect(codeOf(() => parseMessage(agentMessageSchema, reply(value)))).toBe("PROTOCOL_ERROR");
    }
    expect(({} as Record<string, unknown>)["a"]).toBeUndefined();
  });
});

describe("limits", () => {
  const typesOf = (options: readonly { shape: { type: { value: string } } }[]): string[] =>
    options.map((option) => option.shape.type.value);

  test("there is one of each type of message, and of nothing else", () => {
    const types = [...typesOf(agentMessageSchema.options), ...typesOf(orchestratorMessageSchema.options)];
    expect(Object.keys(messageLimits).sort()).toEqual(types.sort());
  });

  test.each(Object.entries(messageLimits))("a %s is taken up to its limits and not above", (type, limits) => {
    const sized = (bytes: number): Uint8Array => toUtf8(`${`{"type":"${type}","a":"`.padEnd(bytes - 2)}"}`);
    expect(toUnread(sized(limits.bytes)).head.type).toBe(type);
    expect(codeOf(() => toUnread(sized(limits.bytes + 1)))).toBe("PROTOCOL_ERROR");
    // As many values as are allowed: the object, its type, and lists of at most 50,000.
    const lists = (count: number): string => {
      const parts: string[] = [];
      for (let left = count; left > 0; left -= 40_000)
        parts.push(`[${"1,".repeat(Math.min(left, 40_000) - 1)}1]`);
      return parts.join(",");
    };
    const most = `{"type":"${type}","a":[${lists(limits.nodes - Math.ceil(limits.nodes / 40_000) - 60)}]}`;
    if (most.length <= limits.bytes && limits.nodes > 100)
      expect(toUnread(toUtf8(most)).head.type).toBe(type);
    expect(codeOf(() => toUnread(toUtf8(`{"type":"${type}","a":[${lists(limits.nodes)}]}`)))).toBe(
      "PROTOCOL_ERROR",
    );
  });

  const id = "01890000-0000-7000-8000-000000000002";
  const at = "2030-01-01T00:00:00Z";
  const result = {
    resource_id: "r".repeat(100),
    module: "m".repeat(64),
    type: "file",
    identity: "/etc/file",
    outcome: "changed",
    action: "update",
    caused_by: [],
    attempts: 1,
    duration_ms: 1,
    changes: Array(2).fill({ property: "content", before: "before", after: "after" }),
  };
  const output = {
    module: "m",
    resource_id: "r",
    stream: "stdout",
    text: "x".repeat(1_000),
    truncated: true,
  };
  const command = { id, not_after: at };
  const most = {
    forget: { ...command, operation_id: id, names: Array(1_000).fill("n".repeat(400)) },
    "terminal.open": {
      ...command,
      session_id: id,
      cols: 1_000,
      rows: 1_000,
      shell: "\u0001".repeat(4_096),
      operator: "o".repeat(64),
    },
    progress: { operation_id: id, results: Array(1_000).fill(result) },
    output: { operation_id: id, output: Array(100).fill(output) },
    result: {
      operation_id: id,
      status: "succeeded",
      started_at: at,
      finished_at: at,
      duration_ms: 1,
      results: Array(20_000).fill(result),
      output: Array(4_000).fill({ ...output, text: "x" }),
    },
    "terminal.closed": { session_id: id, reason: "\u0001".repeat(200), exit_code: 1 },
    log: { level: "info", message: "\u0001".repeat(4_096) },
  };

  test.each(Object.entries(most))(
    "the largest %s that somebody honest says is sent and taken",
    (type, says) => {
      const message = { type, ...says };
      const schemas = [orchestratorMessageSchema, agentMessageSchema];
      expect(schemas.some((schema) => schema.safeParse(message).success)).toBe(true);
      const text = toUtf8(JSON.stringify(message));
      expect(checkSize(message, text)).toBeUndefined();
      expect(toUnread(text).head.type).toBe(type);
    },
  );

  test("what the peer would refuse is not sent", () => {
    const log = { type: "log" };
    expect(checkSize(log, new Uint8Array(64 * 1024).fill(0x20))).toBeUndefined();
    expect(codeOf(() => checkSize(log, new Uint8Array(64 * 1024 + 1).fill(0x20)))).toBe("PAYLOAD_TOO_LARGE");
    const values = toUtf8(
      `[${Array(20)
        .fill(`[${"1,".repeat(35_000)}1]`)
        .join(",")}]`,
    );
    expect(codeOf(() => checkSize({ type: "result" }, values))).toBe("PAYLOAD_TOO_LARGE");
    expect(checkSize({ type: "apply" }, values)).toBeUndefined();
  });
});
