/** How much of a body is read: all of one that is within the limit, and little of one that is far above it. */
import { expect, it } from "vitest";
import { readLimited, refusesAtOnce } from "../../../adapters/http/body-limit.ts";

const limit = 1_000;

/** A body of so many bytes, and how many of them were asked for. */
function bodyOf(length: number, pieceBytes: number) {
  const bytes = Uint8Array.from({ length }, (_, at) => at % 251);
  const seen = { read: 0, isLeft: false };
  async function* pieces(): AsyncGenerator<Uint8Array> {
    try {
      for (let at = 0; at < length; at += pieceBytes) {
        const piece = bytes.subarray(at, at + pieceBytes);
        seen.read += piece.length;
        yield piece;
      }
    } finally {
      seen.isLeft = true;
    }
  }
  return { bytes, seen, pieces: pieces() };
}

it.each([
  [0, 1],
  [1, 1],
  [limit - 1, 100],
  [limit, limit],
  [limit, 100],
  [limit, 1],
])("a body of %d bytes in pieces of %d is there byte for byte", async (length, pieceBytes) => {
  const { bytes, pieces } = bodyOf(length, pieceBytes);
  expect([...(await readLimited(pieces, limit))]).toEqual([...bytes]);
});

it.each([
  ["one byte more than the limit is read to its end", limit + 1, limit + 1],
  ["four times the limit is read to its end", 4 * limit, 4 * limit],
  ["far above it is read no further than that", 100 * limit, 4 * limit + 100],
])("a body of %s, and refused", async (_, length, read) => {
  const { seen, pieces } = bodyOf(length, 100);
  await expect(readLimited(pieces, limit)).rejects.toMatchObject({
    code: "PAYLOAD_TOO_LARGE",
    details: { limit_bytes: limit },
  });
  expect(seen).toEqual({ read, isLeft: true });
});

it.each([
  [undefined, false],
  ["0", false],
  [`${limit}`, false],
  [`${limit + 1}`, false],
  [`${4 * limit}`, false],
  [`${4 * limit + 1}`, true],
  ["9".repeat(400), true],
  ["none", false],
])("an announced length of %s is refused before anything is read: %s", (announced, isRefused) => {
  expect(refusesAtOnce(announced, limit)).toBe(isRefused);
});
