import { expect, it } from "vitest";
import { fromBase64Url, toBase64Url } from "../../lib/internal/base64url.ts";

it("brings every byte back, in the alphabet of URLs and without padding", () => {
  for (let length = 0; length <= 64; length += 1) {
    const bytes = Uint8Array.from({ length }, (_, at) => 255 - ((at * 37 + length) % 256));
    const text = toBase64Url(bytes);
    expect(text).toMatch(/^[A-Za-z0-9_-]*$/);
    expect(fromBase64Url(text)).toEqual(bytes);
  }
});

it.each(["+_8A", "-/8A", "/w", "_w==", "_w=", "_", "_x", "_ w", "_w\n", "ä"])(
  "%j is no text that it writes, and is not read",
  (text) => {
    expect(fromBase64Url(text)).toBeNull();
  },
);
