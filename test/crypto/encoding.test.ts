import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  concatBytes,
  fromBase64,
  fromHex,
  nodeIdOf,
  toBase64,
  toHex,
  toUtf8,
} from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";

describe("hex", () => {
  test("reads back what it wrote", () => {
    fc.assert(fc.property(fc.uint8Array(), (bytes) => void expect(fromHex(toHex(bytes))).toEqual(bytes)));
  });
  test.each(["0", "0g", "AB", "0x00", " 00", "00\n"])("refuses %j", (text) => {
    expect(fromHex(text)).toBe(null);
  });
});

describe("base64", () => {
  test("has one text for each bytes: of all last groups those are read that are written", () => {
    const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"];
    const pairs = letters.flatMap((one) => letters.map((other) => one + other));
    const groups = [
      ...pairs.map((pair) => `${pair}==`),
      ...letters.flatMap((letter) => pairs.map((pair) => `${letter}${pair}=`)),
    ];
    const read = groups.flatMap((text) => {
      const bytes = fromBase64(text);
      return bytes === null ? [] : [[text, toBase64(bytes)]];
    });
    expect(read.filter(([text, written]) => text !== written)).toEqual([]);
    expect(read).toHaveLength(256 + 65_536);
  });

  test("reads back what it wrote, which is what Buffer writes", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString("base64"));
        expect(fromBase64(toBase64(bytes))).toEqual(bytes);
      }),
    );
  });
  test.each(["A", "AA", "AAA", "AA=", "AA==\n", "AB==", "AAB=", "-_==", "AA==AA==", " AA=="])(
    "refuses %j",
    (text) => {
      expect(fromBase64(text)).toBe(null);
    },
  );
});

test("joins bytes in order", () => {
  expect(concatBytes(toUtf8("a"), new Uint8Array(), toUtf8("bc"))).toEqual(toUtf8("abc"));
});

test("names an agent by the hash of its key", () => {
  expect(nodeIdOf(toUtf8("abc"), nodeCrypto)).toBe("ba7816bf8f01cfea414140de5dae2223");
});
