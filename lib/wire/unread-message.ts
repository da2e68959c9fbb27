/** Messages before they are read: what is known of one is what it is about, and that it is not too large for that. */
import { OrchestratorError } from "../errors.ts";
import { cutBytes, maxMessageBytes, fragmentBytes } from "./limits.ts";
import type { MessageHead } from "./message-head.ts";
import { limitsOf, mostNodes, type MessageLimits } from "./message-limits.ts";
import { scanText, TextScanner } from "./scan-text.ts";
import type { TextCut } from "./text-cut.ts";

/** A whole message that nobody has parsed, within the limits of its type. */
export interface UnreadMessage {
  kind: "message";
  head: MessageHead;
  text: Uint8Array;
  /**
   * Where the text can be cut; none where it is short.
   *
   * @internal
   */
  cuts: readonly TextCut[];
}

/** Messages of ours below this are not counted: each of them is within the limits, by its schema. */
const uncountedBytes = 8 * 1024;

/** Takes the text of a message in while it comes. */
export class UnreadIntake {
  #scanner: TextScanner | null = null;

  /**
   * Takes what is there of the text of a message; null while it is not whole. Cost: linear in what was not there the last time.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` for an unknown type, and for a message larger than one of its type may be: as soon as
   * that is known.
   */
  take(text: Uint8Array, isWhole: boolean): UnreadMessage | null {
    const isShort = isWhole && text.length <= fragmentBytes;
    this.#scanner ??= new TextScanner({ maxNodes: mostNodes, ...(!isShort && { cutBytes }) });
    const { head, cuts } = this.#scanner;
    this.#scanner.scan(text, isWhole);
    if (isWhole || head.type !== null) checkLimits(head, { bytes: text.length, nodes: this.#scanner.nodes });
    if (!isWhole) return null;
    this.#scanner = null;
    return { kind: "message", head, text, cuts };
  }
}

/**
 * Takes the whole text of a message in. Cost: linear.
 *
 * @throws {OrchestratorError} `PROTOCOL_ERROR`, as {@link UnreadIntake.take}.
 */
export function toUnread(text: Uint8Array): UnreadMessage {
  return new UnreadIntake().take(text, true)!;
}

function checkLimits({ type }: MessageHead, { bytes, nodes }: MessageLimits): void {
  const limits = limitsOf(type);
  if (limits && bytes <= limits.bytes && nodes <= limits.nodes) return;
  throw new OrchestratorError("PROTOCOL_ERROR", {
    message: limits
      ? "The peer sent a message that is larger than one of its type may be."
      : "The peer sent a message of an unknown type.",
  });
}

/**
 * Refuses to send what the peer would refuse to read.
 *
 * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE`.
 */
export function checkSize(message: { type: string }, text: Uint8Array): void {
  if (text.length < uncountedBytes || text.length > maxMessageBytes) return;
  const limits = limitsOf(message.type);
  if (!limits || (text.length <= limits.bytes && hasFewNodes(text, limits))) return;
  throw new OrchestratorError("PAYLOAD_TOO_LARGE", {
    message: "The message is larger than the agent protocol allows one of its type to be.",
    details: { size_bytes: text.length, limit_bytes: limits.bytes, limit_values: limits.nodes },
  });
}

function hasFewNodes(text: Uint8Array, { nodes }: MessageLimits): boolean {
  // A value takes two bytes at least, with what is between it and the next: most texts need not be counted.
  if (text.length < nodes * 2) return true;
  try {
    return scanText(text, nodes).nodes <= nodes;
  } catch {
    return false;
  }
}
