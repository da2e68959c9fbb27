import { expect, test } from "vitest";
import { limitsOf } from "../../lib/wire/message-limits.ts";
import { UnreadIntake } from "../../lib/wire/unread-message.ts";
import { codeOf } from "./support/peers.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

test("a message of an unknown type is refused as soon as that is known, not when it is whole", () => {
  const begun = '{"type":"nothing","results":[';
  expect(new UnreadIntake().take(utf8('{"ty'), false)).toBeNull();
  expect(codeOf(() => new UnreadIntake().take(utf8(begun), false))).toBe("PROTOCOL_ERROR");
});

test("a message that is larger than one of its type may be is refused before it is whole", () => {
  const { bytes } = limitsOf("ack")!;
  const ofLength = (length: number): Uint8Array => utf8('{"type":"ack","operation_id":"'.padEnd(length, "x"));
  expect(new UnreadIntake().take(ofLength(bytes), false)).toBeNull();
  expect(codeOf(() => new UnreadIntake().take(ofLength(bytes + 1), false))).toBe("PROTOCOL_ERROR");
});
