import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { concatBytes } from "../../lib/crypto/encoding.ts";
import {
  Reassembly,
  frameKind,
  frameMessage,
  streamParts,
  readStream,
  type PlainFrame,
} from "../../lib/wire/framing.ts";
import { fragmentBytes, maxMessageBytes, maxStreamBytes } from "../../lib/wire/limits.ts";
import { sizesAround } from "../support/evil.ts";
import { codeOf } from "./support/peers.ts";

const streamId = "01890000-0000-7000-8000-00000000abcd";
const takeAll = (frames: readonly PlainFrame[]): (Uint8Array | null)[] => {
  const reassembly = new Reassembly();
  return frames.map((frame) => {
    const { bytes, isWhole } = reassembly.take(frame);
    return isWhole ? bytes : null;
  });
};
const fragment = (length: number): PlainFrame => ({
  kind: frameKind.fragment,
  payload: new Uint8Array(length),
});
const last = (length: number): PlainFrame => ({
  kind: frameKind.lastFragment,
  payload: new Uint8Array(length),
});
const whole: PlainFrame = { kind: frameKind.message, payload: new Uint8Array(1) };

describe("a message", () => {
  test.each([0, 1, fragmentBytes - 1, fragmentBytes, fragmentBytes + 1, 3 * fragmentBytes, maxMessageBytes])(
    "of %d bytes comes back whole",
    (size) => {
      const message = new Uint8Array(size);
      for (let index = 0; index < size; index += 4093) message[index] = index;
      const frames = frameMessage(message);
      expect(frames.length).toBe(Math.max(1, Math.ceil(size / fragmentBytes)));
      const taken = takeAll(frames);
      expect(taken.slice(0, -1).every((piece) => piece === null)).toBe(true);
      expect(Buffer.from(taken.at(-1) ?? "none").equals(Buffer.from(message))).toBe(true);
    },
  );

  test("above 16 MiB is not sent", () => {
    expect(codeOf(() => frameMessage(new Uint8Array(maxMessageBytes + 1)))).toBe("PAYLOAD_TOO_LARGE");
  });

  test("may follow another that was cut", () => {
    const message = new Uint8Array(2 * fragmentBytes);
    expect(
      takeAll([...frameMessage(message), whole, ...frameMessage(message)]).map((piece) => piece?.length),
    ).toEqual([undefined, message.length, 1, undefined, message.length]);
  });
});

test("what was taken stays as it is, whatever comes after it", () => {
  const message = (byte: number): Uint8Array => new Uint8Array(3 * fragmentBytes).fill(byte);
  const reassembly = new Reassembly();
  const taken = [1, 2, 3].flatMap((byte) =>
    frameMessage(message(byte)).map((frame) => ({ byte, ...reassembly.take(frame) })),
  );
  expect(taken.map(({ isWhole }) => isWhole)).toEqual([1, 2, 3].flatMap(() => [false, false, true]));
  for (const [at, { byte, bytes }] of taken.entries()) {
    const length = ((at % 3) + 1) * fragmentBytes;
    expect(Buffer.compare(bytes, message(byte).subarray(0, length))).toBe(0);
  }
});

test.each([
  ["a message inside another", [fragment(fragmentBytes), whole]],
  ["an empty fragment", [fragment(0)]],
  ["a short fragment that is not the last", [fragment(fragmentBytes - 1)]],
  ["a long fragment", [fragment(fragmentBytes + 1)]],
  ["an empty last fragment", [fragment(fragmentBytes), last(0)]],
  ["a long last fragment", [last(fragmentBytes + 1)]],
  ["more than 16 MiB", [...Array.from({ length: 64 }, () => fragment(fragmentBytes)), last(1)]],
])("refuses %s", (_, frames) => {
  expect(codeOf(() => takeAll(frames))).toBe("PROTOCOL_ERROR");
});

describe("a stream", () => {
  test("comes back with its id and data", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uint8Array({ maxLength: 5000 }), (id, data) => {
        expect(readStream(concatBytes(...streamParts(id, data)))).toEqual({ streamId: id, data });
      }),
    );
  });

  test.each(sizesAround(maxStreamBytes))("of %i bytes fits into one frame or is not sent", (size) => {
    const payload = (): Uint8Array => concatBytes(...streamParts(streamId, new Uint8Array(size)));
    if (size > maxStreamBytes) expect(codeOf(payload)).toBe("PAYLOAD_TOO_LARGE");
    else expect(payload().length).toBe(size + 16);
  });

  test("without a whole id is refused", () => {
    expect(codeOf(() => readStream(new Uint8Array(15)))).toBe("PROTOCOL_ERROR");
  });

  test("needs a UUID", () => {
    expect(() => streamParts("terminal-1", new Uint8Array())).toThrow(TypeError);
  });
});
