import fc from "fast-check";
import { expect, test } from "vitest";
import { readProxyHeader } from "../../../adapters/h3/proxy-header.ts";

const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");

/** A header of version 2. */
function binaryHeader(command: number, family: number, body: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(body.length);
  return Buffer.concat([signature, Buffer.of(command, family), length, body]);
}

const ports = Buffer.of(0xdc, 0x04, 0x01, 0xbb);
const four = Buffer.concat([Buffer.of(203, 0, 113, 7, 10, 0, 0, 1), ports]);
const v6 = Buffer.from("20010db8000000000000000000000001", "hex");
const six = Buffer.concat([v6, v6, ports]);
const tlv = Buffer.concat([Buffer.of(0x02, 0x00, 0x05), Buffer.from("fleet")]);
const source = { address: "203.0.113.7", port: 56_324 };

const good: [string, Buffer, object | null][] = [
  ["TCP4", Buffer.from("PROXY TCP4 203.0.113.7 10.0.0.1 56324 443\r\n"), source],
  ["TCP6", Buffer.from("PROXY TCP6 2001:db8::1 ::1 56324 443\r\n"), { address: "2001:db8::1", port: 56_324 }],
  ["UNKNOWN", Buffer.from("PROXY UNKNOWN\r\n"), null],
  ["UNKNOWN with more", Buffer.from("PROXY UNKNOWN ffff:: ffff:: 1 2\r\n"), null],
  ["version 2 over IPv4", binaryHeader(0x21, 0x11, four), source],
  ["version 2 with what a proxy adds", binaryHeader(0x21, 0x11, Buffer.concat([four, tlv])), source],
  ["version 2 over IPv6", binaryHeader(0x21, 0x21, six), { address: "2001:db8::1", port: 56_324 }],
  ["version 2 of the proxy itself", binaryHeader(0x20, 0x11, four), null],
  ["version 2 of no family", binaryHeader(0x21, 0x00, Buffer.alloc(0)), null],
  ["version 2 over a unix socket", binaryHeader(0x21, 0x31, Buffer.alloc(216)), null],
  ["the longest line", Buffer.from(`PROXY UNKNOWN ${"x".repeat(91)}\r\n`), null],
  [
    "the largest port",
    Buffer.from("PROXY TCP4 203.0.113.7 10.0.0.1 65535 0\r\n"),
    { ...source, port: 65_535 },
  ],
  [
    "version 2 with as much as a proxy may add",
    binaryHeader(0x21, 0x11, Buffer.concat([four, Buffer.alloc(4_084)])),
    source,
  ],
];

test.each(good)("%s is read, whatever follows", (_, header, found) => {
  const behind = Buffer.concat([header, Buffer.from("GET / HTTP/1.1\r\n")]);
  expect(readProxyHeader(behind)).toEqual({ kind: "header", length: header.length, source: found });
});

test.each(good)("%s is waited for, byte by byte", (_, header) => {
  for (let length = 0; length < header.length; length += 1)
    expect(readProxyHeader(header.subarray(0, length))).toEqual({ kind: "more" });
});

test.each([
  ["HTTP", "GET / HTTP/1.1\r\n"],
  ["TLS", "\x16\x03\x01\x02\x00"],
  ["an address of the other kind", "PROXY TCP4 2001:db8::1 ::1 1 2\r\n"],
  ["no address", "PROXY TCP4 example.com 10.0.0.1 1 2\r\n"],
  ["an address with zeros in front", "PROXY TCP4 203.0.113.007 10.0.0.1 1 2\r\n"],
  ["a port too large", "PROXY TCP4 203.0.113.7 10.0.0.1 65536 2\r\n"],
  ["a port that is none", "PROXY TCP4 203.0.113.7 10.0.0.1 0x1 2\r\n"],
  ["a port too few", "PROXY TCP4 203.0.113.7 10.0.0.1 1\r\n"],
  ["a word too many", "PROXY TCP4 203.0.113.7 10.0.0.1 1 2 3\r\n"],
  ["another family", "PROXY UDP4 203.0.113.7 10.0.0.1 1 2\r\n"],
  ["small letters", "proxy TCP4 203.0.113.7 10.0.0.1 1 2\r\n"],
  ["the other address of the other kind", "PROXY TCP4 203.0.113.7 ::1 1 2\r\n"],
  ["the other address none", "PROXY TCP6 2001:db8::1 example.com 1 2\r\n"],
  ["the other port too large", "PROXY TCP4 203.0.113.7 10.0.0.1 1 65536\r\n"],
  ["a line without an end", `PROXY UNKNOWN ${"x".repeat(107)}`],
  ["as many bytes as a line may have, without its end", `PROXY UNKNOWN ${"x".repeat(93)}`],
  ["a line that is too long by one, with its end", `PROXY UNKNOWN ${"x".repeat(92)}\r\n`],
])("%s is no header", (_, text) => {
  expect(readProxyHeader(Buffer.from(text, "latin1"))).toEqual({ kind: "wrong" });
});

test.each([
  ["another version", binaryHeader(0x11, 0x11, four)],
  ["another command", binaryHeader(0x22, 0x11, four)],
  ["addresses that are cut", binaryHeader(0x21, 0x11, four.subarray(0, 11))],
  ["IPv6 addresses that are cut", binaryHeader(0x21, 0x21, four)],
  ["more than a proxy adds", binaryHeader(0x21, 0x11, Buffer.alloc(4_097))],
])("%s is no header of version 2", (_, bytes) => {
  expect(readProxyHeader(bytes)).toEqual({ kind: "wrong" });
});

test("whatever comes is told in time, and nothing is waited for without end", () => {
  const starts = fc.constantFrom(
    Buffer.alloc(0),
    signature,
    Buffer.from("PROXY "),
    Buffer.from("PROXY TCP4 "),
  );
  fc.assert(
    fc.property(starts, fc.uint8Array({ maxLength: 300 }), (start, rest) => {
      const bytes = Buffer.concat([start, rest]);
      const found = readProxyHeader(bytes);
      if (found.kind === "header") expect(found.length).toBeLessThanOrEqual(bytes.length);
      const long = Buffer.concat([bytes, Buffer.alloc(5_000, "x")]);
      expect(readProxyHeader(long).kind).not.toBe("more");
    }),
  );
});
