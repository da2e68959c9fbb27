/** Where a link points is bytes to the kernel. As text, each that is no part of UTF-8 is a lone surrogate, so that it comes back as it was. */

const strictDecoder = new TextDecoder("utf-8", { fatal: true });
const firstStandIn = 0xdc00;

/** Lone surrogates alone: with `u` a pair is one character. */
const loneSurrogates = /[\ud800-\udfff]/gu;

/** The bytes of a link as text. */
export function toTargetText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = characterLength(bytes, at);
    text +=
      length === 0
        ? String.fromCharCode(firstStandIn + bytes.readUInt8(at))
        : bytes.toString("utf8", at, at + length);
    at += Math.max(1, length);
  }
  return text;
}

/** The text of {@link toTargetText} as bytes. */
export function toTargetBytes(text: string): Buffer {
  const pieces: Buffer[] = [];
  let from = 0;
  for (const { 0: lone, index } of text.matchAll(loneSurrogates)) {
    const byte = lone.charCodeAt(0) - firstStandIn;
    // Any other stands for no byte, and becomes what Node makes of it.
    if (byte < 0x80 || byte > 0xff) continue;
    pieces.push(Buffer.from(text.slice(from, index)), Buffer.of(byte));
    from = index + 1;
  }
  return Buffer.concat([...pieces, Buffer.from(text.slice(from))]);
}

/** As people are shown it: a replacement character for each byte that is no text. */
export function toShownTarget(text: string): string {
  return text.replace(loneSurrogates, "\ufffd");
}

/** How many bytes the character has that begins there; 0 = none does. */
function characterLength(bytes: Buffer, at: number): number {
  for (let length = 1; length <= 4 && at + length <= bytes.length; length += 1)
    if (isUtf8(bytes.subarray(at, at + length))) return length;
  return 0;
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictDecoder.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
