import { expect, test } from "vitest";
import { maxMessageBytes } from "../../lib/wire/limits.ts";
import { limitsOf, messageLimits } from "../../lib/wire/message-limits.ts";
import { checkSize, toUnread, UnreadIntake } from "../../lib/wire/unread-message.ts";
import { codeOf } from "./support/peers.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A text of a type with so many values: the object, its type, lists, and what is in them. */
function ofValues(type: string, count: number): string {
  const most = 40_000;
  const lists = Math.ceil(count / most);
  const members = Array.from({ length: lists }, (_, n) => Math.floor((count - 3 - lists + n) / lists));
  return `{"type":"${type}","a":[${members.map((each) => `[${"1,".repeat(each - 1)}1]`).join()}]}`;
}

/** Whether a text is sent, and whether it is taken. */
const fates = (type: string, text: string): unknown[] => [
  codeOf(() => checkSize({ type }, utf8(text))),
  codeOf(() => toUnread(utf8(text)).kind),
];
const fine = [undefined, "message"];
const refused = ["PAYLOAD_TOO_LARGE", "PROTOCOL_ERROR"];

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

test.each(Object.entries(messageLimits))(
  "a %s of just as many values as it may have is sent and taken, one with one more is neither",
  (type, { bytes, nodes }) => {
    // Short messages are not counted before they are sent: nobody honest makes one like this.
    const padded = (text: string): string => text.padEnd(Math.min(bytes, Math.max(text.length, 10_000)));
    expect(fates(type, padded(ofValues(type, nodes)))).toEqual(fine);
    const [sent, taken] = fates(type, padded(ofValues(type, nodes + 1)));
    expect(taken).toBe("PROTOCOL_ERROR");
    if (bytes > 8 * 1024) expect(sent).toBe("PAYLOAD_TOO_LARGE");
  },
);

const counted = Object.entries(messageLimits).filter(
  ([, { bytes }]) => bytes >= 8 * 1024 && bytes < maxMessageBytes,
);

test.each(counted)(
  "a %s of just as many bytes as it may have is sent and taken, one with one more is neither",
  (type, { bytes }) => {
    const ofLength = (length: number): string => `${`{"type":"${type}","a":"`.padEnd(length - 2)}"}`;
    expect(fates(type, ofLength(bytes))).toEqual(fine);
    expect(fates(type, ofLength(bytes + 1))).toEqual(refused);
  },
);
