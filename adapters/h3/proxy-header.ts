/** The header of the PROXY protocol, versions 1 and 2, by which a proxy that passes bytes on says where a connection comes from. */
import { isIP } from "node:net";

/** Where a connection comes from. */
export interface ProxiedSource {
  address: string;
  port: number;
}

/** What the first bytes of a connection are. */
export type ProxyHeader =
  /** The beginning of a header: more is needed. */
  | { kind: "more" }
  /** No header. */
  | { kind: "wrong" }
  /** A header of so many bytes; without a source where the proxy speaks for itself, or does not know. */
  | { kind: "header"; length: number; source: ProxiedSource | null };

/** With the line end; more is none, says the protocol. */
const mostLineBytes = 107;
const signature = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const fixedBytes = 16;
/** What a proxy may add to the addresses, such as a certificate's name. */
const mostBodyBytes = 4 * 1024;

const families: Readonly<Record<number, { bytes: number; read(bytes: Buffer): string }>> = {
  0x11: { bytes: 4, read: (bytes) => [...bytes].join(".") },
  0x21: { bytes: 16, read: toIpv6 },
};

/** Reads the header of version 1 or 2 at the beginning of what came so far. */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (startsAlike(bytes, signature)) return bytes.length < fixedBytes ? { kind: "more" } : readBinary(bytes);
  if (startsAlike(bytes, Buffer.from("PROXY "))) return readLine(bytes);
  return { kind: "wrong" };
}

function startsAlike(bytes: Buffer, start: Buffer): boolean {
  const common = Math.min(bytes.length, start.length);
  return bytes.subarray(0, common).equals(start.subarray(0, common));
}

function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.subarray(0, mostLineBytes).indexOf("\r\n");
  if (end < 0) return { kind: bytes.length < mostLineBytes ? "more" : "wrong" };
  const length = end + 2;
  const [, family = "", from = "", to = "", ...ports] = bytes.toString("latin1", 0, end).split(" ");
  if (family === "UNKNOWN") return { kind: "header", length, source: null };
  const version = { TCP4: 4, TCP6: 6 }[family];
  const isGood = isIP(from) === version && isIP(to) === version && ports.length === 2 && ports.every(isPort);
  return isGood
    ? { kind: "header", length, source: { address: from, port: Number(ports[0]) } }
    : { kind: "wrong" };
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

function readBinary(bytes: Buffer): ProxyHeader {
  const bodyBytes = bytes.readUInt16BE(14);
  const command = bytes[12];
  if ((command !== 0x20 && command !== 0x21) || bodyBytes > mostBodyBytes) return { kind: "wrong" };
  const length = fixedBytes + bodyBytes;
  if (bytes.length < length) return { kind: "more" };
  const family = families[bytes[13]!];
  // "Local": a check of the proxy's own. Other families have no address that means something here.
  if (command === 0x20 || family === undefined) return { kind: "header", length, source: null };
  // Both addresses, then both ports.
  if (bodyBytes < 2 * family.bytes + 4) return { kind: "wrong" };
  const address = family.read(bytes.subarray(fixedBytes, fixedBytes + family.bytes));
  const port = bytes.readUInt16BE(fixedBytes + 2 * family.bytes);
  return { kind: "header", length, source: { address, port } };
}

/** As Node writes addresses: lower case, the longest run of zeros left out. */
function toIpv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1);
}
