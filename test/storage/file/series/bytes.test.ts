import { expect, test } from "vitest";
import { ByteReader, ByteWriter } from "../../../../lib/storage/file/series/bytes.ts";

/** Single bytes that fell on the end of the room were lost: the writer wrote them to the room that it had just left. */
test("nothing is lost where the room grows, whatever is written there", () => {
  const kinds: [(out: ByteWriter) => void, (input: ByteReader) => unknown, unknown][] = [
    [(out) => out.byte(7), (input) => input.byte(), 7],
    [(out) => out.unsigned(2 ** 50), (input) => input.unsigned(), 2 ** 50],
    [(out) => out.signed(-5), (input) => input.signed(), -5],
    [(out) => out.float64(Math.PI), (input) => input.float64(), Math.PI],
    [(out) => out.uint32(123_456), (input) => input.uint32(), 123_456],
    [(out) => out.text("ü\ud800"), (input) => input.text(), "ü\ud800"],
  ];
  for (const [write, read, expected] of kinds) {
    for (let before = 0; before < 300; before++) {
      const out = new ByteWriter();
      for (let n = 0; n < before; n++) out.byte(1);
      write(out);
      const input = new ByteReader(out.view(), before);
      expect(read(input)).toBe(expected);
      expect(input.atEnd).toBe(true);
    }
  }
});
