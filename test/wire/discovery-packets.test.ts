/** Packets of discovery: what is written is read back, and nothing else is. */
import { describe, expect, it } from "vitest";
import { nodeCrypto, toHex } from "fleetwright";
import {
  announcementBytes,
  isAnnouncementSigned,
  isAnswerSigned,
  maxAnnouncedUrlBytes,
  readAnnouncement,
  readAnswer,
  writeAnnouncement,
  writeAnswer,
} from "../../lib/wire/discovery-packets.ts";
import { seededRandom } from "../support/random.ts";

const signerOf = (byte: number) => nodeCrypto.createSigner(new Uint8Array(32).fill(byte));
const [server, machine] = [signerOf(1), signerOf(2)];
const nonce = new Uint8Array(16).fill(7);
const told = { nonce, at: 1_893_456_000_000, spreadMs: 750, url: "wss://fleet.example/agent/v1" };
const answer = { nonce, agentVersion: "0.1.0", hostname: "db-ü" };
const announcement = writeAnnouncement(server, told);
const answered = writeAnswer(machine, server.publicKey, answer);

describe("an announcement", () => {
  it("is 512 bytes, and read back as it was written", () => {
    expect(announcement).toHaveLength(512);
    expect(readAnnouncement(announcement)).toEqual({ ...told, publicKey: server.publicKey });
    expect(isAnnouncementSigned(nodeCrypto, announcement)).toBe(true);
  });

  it("is the same bytes in every version of the package", () => {
    expect(toHex(nodeCrypto.sha256(announcement))).toMatchInlineSnapshot(
      `"66bba441e35ce1ff93405c43b7f30ad5ad635ee19de090d0988bb51156c2ca0a"`,
    );
    expect(toHex(nodeCrypto.sha256(answered))).toMatchInlineSnapshot(
      `"1fb47ccae23c289da65f523e9b3dce47cbec7e0b4a7cc48c1c78a3e119e33b85"`,
    );
  });

  it.each([1, maxAnnouncedUrlBytes - "ws://".length])("takes an address of %i more characters", (length) => {
    const url = `ws://${"a".repeat(length)}`;
    const packet = writeAnnouncement(server, { ...told, url });
    expect(readAnnouncement(packet)?.url).toBe(url);
    expect(isAnnouncementSigned(nodeCrypto, packet)).toBe(true);
  });

  it("takes no longer one", () => {
    const url = `ws://${"a".repeat(maxAnnouncedUrlBytes)}`;
    expect(() => writeAnnouncement(server, { ...told, url })).toThrow(RangeError);
  });

  it.each(["http://a", "wss://", "ws://a b", "ws://a\n", "file:///etc/passwd", "", "ws://\u00fc"])(
    "with the address %j is none",
    (url) => {
      expect(readAnnouncement(writeAnnouncement(server, { ...told, url }))).toBeNull();
    },
  );
});

describe("an answer", () => {
  it("is read back as it was written, and never more than what it answers", () => {
    expect(readAnswer(answered)).toEqual({ ...answer, publicKey: machine.publicKey });
    expect(isAnswerSigned(nodeCrypto, answered, server.publicKey)).toBe(true);
    const longest = { nonce, agentVersion: "v".repeat(64), hostname: "h".repeat(253) };
    const packet = writeAnswer(machine, server.publicKey, longest);
    expect(packet.length).toBeLessThanOrEqual(announcementBytes);
    expect(readAnswer(packet)).toMatchObject(longest);
  });

  it("to one orchestrator is none to another", () => {
    expect(isAnswerSigned(nodeCrypto, answered, machine.publicKey)).toBe(false);
  });

  it.each(["", "a\u001b]52;c;aGk=\u0007", "a\nb", "h".repeat(254)])(
    "with the host name %j is none",
    (hostname) => {
      const packet = writeAnswer(machine, server.publicKey, { ...answer, hostname });
      expect(readAnswer(packet)).toBeNull();
    },
  );
});

describe.each([
  [
    "an announcement",
    announcement,
    (packet: Uint8Array) => readAnnouncement(packet) !== null && isAnnouncementSigned(nodeCrypto, packet),
  ],
  [
    "an answer",
    answered,
    (packet: Uint8Array) =>
      readAnswer(packet) !== null && isAnswerSigned(nodeCrypto, packet, server.publicKey),
  ],
] as const)("%s", (_, packet, isGood) => {
  it("of which any one bit is another is none", () => {
    expect(isGood(packet)).toBe(true);
    for (let at = 0; at < packet.length; at += 1) {
      const changed = Uint8Array.from(packet);
      changed[at]! ^= 1 << (at % 8);
      expect(isGood(changed), String(at)).toBe(false);
    }
  });

  it("that is cut off, or goes on, is none", () => {
    for (let length = 0; length < packet.length; length += 1)
      expect(isGood(packet.subarray(0, length))).toBe(false);
    expect(isGood(new Uint8Array([...packet, 0]))).toBe(false);
  });

  it("is none of what chance makes", () => {
    const random = seededRandom(5);
    for (let n = 0; n < 2_000; n += 1) {
      const noise = Uint8Array.from(packet, (byte, at) => (at < 6 ? byte : Math.floor(random() * 256)));
      expect(isGood(noise)).toBe(false);
    }
  });
});
