import fc from "fast-check";
import { expect, test } from "vitest";
import {
  decodeRecord,
  encodeRecord,
  hasRecordBehind,
  isBlankFrom,
} from "../../../lib/storage/file/record.ts";
import { evilName } from "../../support/evil.ts";

const text = fc.oneof(fc.jsonValue(), evilName).map((value) => JSON.stringify(value));

test("a record is read back as it was written, and reads as a line of text", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 2 ** 47 }), (written, sequence) => {
      const bytes = encodeRecord(sequence, written);
      expect(decodeRecord(Buffer.concat([Buffer.alloc(7), bytes, Buffer.alloc(9)]), 7)).toEqual({
        sequence,
        text: written,
        end: 7 + bytes.length,
      });
      expect(bytes.indexOf("\n")).toBe(bytes.length - 1);
    }),
  );
  expect(encodeRecord(7, '{"a":1}').toString()).toBe('00000007 37cf6c07 000000000007 {"a":1}\n');
});

test("any changed bit and any cut makes a record unreadable", () => {
  const bytes = encodeRecord(258, '{"name":"ü","n":[1,2,3]}');
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    expect(decodeRecord(changed, 0), `bit ${bit}`).toBeNull();
  }
  for (let length = 0; length < bytes.length; length++) {
    expect(decodeRecord(bytes.subarray(0, length), 0), `${length} bytes`).toBeNull();
  }
});

test("a record behind a damaged one is found, and its own rest is not taken for one", () => {
  const [first, second] = [encodeRecord(1, '{"a":1}'), encodeRecord(2, '{"b":2}')];
  for (let at = 0; at < first.length; at++) {
    const damaged = Buffer.concat([first, second, Buffer.alloc(100)]);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    expect(hasRecordBehind(damaged, 0), `byte ${at}`).toBe(true);
    expect(hasRecordBehind(Buffer.concat([damaged.subarray(0, first.length), Buffer.alloc(50)]), 0)).toBe(
      false,
    );
  }
});

test("what is blank is told from what is not, at any place", () => {
  const bytes = Buffer.alloc(200_000);
  expect(isBlankFrom(bytes, 0)).toBe(true);
  for (const at of [0, 1, 65_535, 65_536, 199_999]) {
    bytes[at] = 1;
    expect(isBlankFrom(bytes, 0), `byte ${at}`).toBe(false);
    expect(isBlankFrom(bytes, at + 1)).toBe(true);
    bytes[at] = 0;
  }
});
