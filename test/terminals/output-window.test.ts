/** The newest output of a terminal: every byte that is kept, at its place, and no fewer than was asked for. */
import { describe, expect, it } from "vitest";
import { OutputWindow } from "../../lib/terminals/output-window.ts";
import { sizesAround } from "../support/evil.ts";
import { seededRandom } from "../support/random.ts";

const mostBytes = 300_000;
const chunkBytes = 65_536;

/** The byte at a place of all output. */
const byteAt = (place: number): number => (place * 31 + (place >> 8)) % 251;

function outputOf(from: number, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => byteAt(from + index));
}

/** All from a place on, in pieces of at most so many bytes. */
function readFrom(window: OutputWindow, from: number, most: number): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (let at = from; at < window.end;) {
    const piece = window.read(at, most);
    if (piece.length === 0 || piece.length > most) throw new Error(`${piece.length} bytes at ${at}`);
    pieces.push(piece);
    at += piece.length;
  }
  return Buffer.concat(pieces);
}

describe("a window of output", () => {
  it.each([1, 2, 3, 4, 5, 6])(
    "keeps what it must, and little more, whatever comes in what pieces (seed %i)",
    (seed) => {
      const random = seededRandom(seed);
      const window = new OutputWindow(mostBytes);
      const sizes = [1, 7, ...sizesAround(4_096), ...sizesAround(chunkBytes), 200_000];
      for (let step = 0; step < 60; step += 1) {
        const end = window.end;
        window.push(outputOf(end, sizes[Math.floor(random() * sizes.length)]!));
        expect(window.end - window.start).toBeGreaterThanOrEqual(Math.min(window.end, mostBytes));
        expect(window.end - window.start).toBeLessThan(mostBytes + 2 * chunkBytes);
      }
      for (const from of [
        window.start,
        window.start + 1,
        window.end - mostBytes,
        window.end - 1,
        window.end,
      ]) {
        const all = readFrom(window, from, 10_000);
        expect(Buffer.compare(all, outputOf(from, window.end - from))).toBe(0);
      }
    },
  );

  it("is empty at its end, and before anything came", () => {
    const window = new OutputWindow(mostBytes);
    expect([window.start, window.end, window.read(0, 10).length]).toEqual([0, 0, 0]);
    window.push(outputOf(0, 4_096));
    expect([window.start, window.end, window.read(4_096, 10).length]).toEqual([0, 4_096, 0]);
  });
});
