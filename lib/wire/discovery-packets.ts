/**
 * The packets by which an orchestrator calls into the local network, and agents answer. Numbers are big-endian.
 *
 *   announcement, 512 bytes                          answer, at most as many
 *     0  "FLWR", 1, version                            0  "FLWR", 2, version
 *     6  nonce, 16 bytes                               6  nonce of the announcement, 16 bytes
 *    22  the orchestrator's public key                22  the agent's public key
 *    54  when it was made, milliseconds since 1970    54  version of the agent: length, UTF-8
 *    62  how long answers may be spread, ms (16 bits)  .  name of the host: length, UTF-8
 *    64  address for agents: length (16 bits), UTF-8   .  signature over all before
 *     .  zeros
 *   448  signature over all before
 *
 * The address is under the signature: whoever sends an announcement again, from elsewhere, leads nobody astray. An answer is shorter than
 * what it answers, so that nobody can have a network of agents shout at a third.
 */
import type { Crypto, Signer } from "../crypto/crypto.ts";
import { concatBytes, toUtf8 } from "../crypto/encoding.ts";
import { parsedUrl } from "../internal/url-text.ts";
import { labelled } from "./transcript.ts";

/** Bytes of an announcement. */
export const announcementBytes = 512;
/** Most bytes of the address in one. */
export const maxAnnouncedUrlBytes = 382;

const version = 1;
const magic = toUtf8("FLWR");
const kinds = { announcement: 1, answer: 2 } as const;
const headBytes = 54;
const signatureBytes = 64;
const maxTextBytes = 255;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const labels = {
  announcement: "fleetwright/1 announcement",
  answer: "fleetwright/1 announcement answer",
} as const;

/** What an orchestrator says of itself. */
export interface Announcement {
  /** 16 bytes that nobody can guess: an answer names them. */
  nonce: Uint8Array;
  /** The orchestrator's Ed25519 key. */
  publicKey: Uint8Array;
  /** When it was made, milliseconds since 1970. */
  at: number;
  /** Within how long answers are to come, spread at random, milliseconds; 0 to 65,535. */
  spreadMs: number;
  /** Where agents connect, a ws or wss address. */
  url: string;
}

/** What an agent says of itself. */
export interface AnnouncementAnswer {
  nonce: Uint8Array;
  /** The agent's Ed25519 key. */
  publicKey: Uint8Array;
  agentVersion: string;
  hostname: string;
}

/** Writes an announcement, signed. */
export function writeAnnouncement(signer: Signer, announcement: Omit<Announcement, "publicKey">): Uint8Array {
  const { nonce, at, spreadMs, url } = announcement;
  const packet = new Uint8Array(announcementBytes);
  const view = new DataView(packet.buffer);
  packet.set(headOf("announcement", nonce, signer.publicKey));
  view.setBigUint64(54, BigInt(at));
  view.setUint16(62, spreadMs);
  const text = toUtf8(url);
  if (text.length > maxAnnouncedUrlBytes) throw new RangeError("The address is too long to announce.");
  view.setUint16(64, text.length);
  packet.set(text, 66);
  const signedBytes = announcementBytes - signatureBytes;
  packet.set(signer.sign(labelled(labels.announcement, packet.subarray(0, signedBytes))), signedBytes);
  return packet;
}

/** Reads what may be an announcement; null where it is none. Cheap: the signature is not looked at. */
export function readAnnouncement(packet: Uint8Array): Announcement | null {
  if (packet.length !== announcementBytes || !hasHead(packet, "announcement")) return null;
  const view = new DataView(packet.buffer, packet.byteOffset, packet.length);
  const at = Number(view.getBigUint64(54));
  const length = view.getUint16(64);
  const text = length <= maxAnnouncedUrlBytes ? toText(packet.subarray(66, 66 + length)) : null;
  if (text === null || !isAgentUrl(text) || !Number.isSafeInteger(at)) return null;
  return { ...keysIn(packet), at, spreadMs: view.getUint16(62), url: text };
}

/** Whether an announcement that was read is signed by the key that it names. */
export function isAnnouncementSigned(crypto: Crypto, packet: Uint8Array): boolean {
  return isSigned(crypto, packet, (body) => labelled(labels.announcement, body));
}

/** Writes the answer to an announcement of `orchestratorKey`, signed by the agent. */
export function writeAnswer(
  signer: Signer,
  orchestratorKey: Uint8Array,
  answer: Omit<AnnouncementAnswer, "publicKey">,
): Uint8Array {
  const { nonce, agentVersion, hostname } = answer;
  const texts = [agentVersion, hostname].flatMap((text) => {
    const bytes = toUtf8(text);
    if (bytes.length > maxTextBytes) throw new RangeError("A text is too long for an answer.");
    return [new Uint8Array([bytes.length]), bytes];
  });
  const body = concatBytes(headOf("answer", nonce, signer.publicKey), ...texts);
  return concatBytes(body, signer.sign(answerLabelled(orchestratorKey, body)));
}

/** Reads what may be an answer; null where it is none. Cheap: the signature is not looked at. */
export function readAnswer(packet: Uint8Array): AnnouncementAnswer | null {
  if (packet.length > announcementBytes || !hasHead(packet, "answer")) return null;
  const end = packet.length - signatureBytes;
  const agentVersion = textAt(packet, headBytes, end);
  const hostname = agentVersion && textAt(packet, agentVersion.end, end);
  if (!hostname || hostname.end !== end) return null;
  return { ...keysIn(packet), agentVersion: agentVersion.text, hostname: hostname.text };
}

/** Whether an answer that was read is signed by the key that it names, for an announcement of `orchestratorKey`. */
export function isAnswerSigned(crypto: Crypto, packet: Uint8Array, orchestratorKey: Uint8Array): boolean {
  return isSigned(crypto, packet, (body) => answerLabelled(orchestratorKey, body));
}

function answerLabelled(orchestratorKey: Uint8Array, body: Uint8Array): Uint8Array {
  return labelled(labels.answer, concatBytes(orchestratorKey, body));
}

function headOf(kind: keyof typeof kinds, nonce: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return concatBytes(magic, new Uint8Array([kinds[kind], version]), nonce, publicKey);
}

function hasHead(packet: Uint8Array, kind: keyof typeof kinds): boolean {
  const isOurs =
    packet.length >= headBytes + signatureBytes && magic.every((byte, at) => packet[at] === byte);
  return isOurs && packet[4] === kinds[kind] && packet[5] === version;
}

function keysIn(packet: Uint8Array): { nonce: Uint8Array; publicKey: Uint8Array } {
  return { nonce: packet.slice(6, 22), publicKey: packet.slice(22, headBytes) };
}

function isSigned(crypto: Crypto, packet: Uint8Array, toSigned: (body: Uint8Array) => Uint8Array): boolean {
  const end = packet.length - signatureBytes;
  return crypto.verify(keysIn(packet).publicKey, toSigned(packet.subarray(0, end)), packet.subarray(end));
}

/** A text with its length before it; null where there is none that may stand there. */
function textAt(packet: Uint8Array, at: number, limit: number): { text: string; end: number } | null {
  const from = at + 1;
  const end = from + (packet[at] ?? 0);
  const text = at < limit && end <= limit ? toText(packet.subarray(from, end)) : null;
  return text !== null && /^\P{C}{1,253}$/u.test(text) ? { text, end } : null;
}

/** Null where it is no UTF-8. */
function toText(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

function isAgentUrl(text: string): boolean {
  return /^wss?:\/\/[\x21-\x7e]+$/.test(text) && parsedUrl(text) !== null;
}
