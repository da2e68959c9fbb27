/** Untrusted bytes or text to a checked message; whatever is wrong is a `PROTOCOL_ERROR`. */
import type { z } from "zod";
import { toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import type { Work } from "../internal/work.ts";
import { check, checkInSlices, type Checked, type MessageSchema } from "./check-slices.ts";
import { fragmentBytes } from "./limits.ts";
import { parsePieces } from "./parse-pieces.ts";
import { scanText } from "./scan-text.ts";
import type { TextCut } from "./text-cut.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Values in a message of a handshake, and in whatever else names no limit of its own. */
const defaultMaxNodes = 10_000;

/**
 * Reads one JSON message of a peer and checks it against a schema.
 *
 * @throws {OrchestratorError} `PROTOCOL_ERROR` for bytes that are not UTF-8, not JSON, nested deeper than 64 levels, with more than
 * 10,000 values, of an unknown type, or with a field that the schema does not know. `details.issues` names at most five places, never values.
 */
export function parseMessage<Schema extends z.ZodType>(
  schema: Schema,
  input: Uint8Array | string,
): z.infer<Schema> {
  const bytes = typeof input === "string" ? toUtf8(input) : input;
  scanText(bytes, defaultMaxNodes);
  return parseScanned(schema, bytes);
}

/**
 * Does the same for a text that {@link scanText} let pass.
 *
 * @throws {OrchestratorError} `PROTOCOL_ERROR`, as {@link parseMessage}.
 */
export function parseScanned<Schema extends z.ZodType>(schema: Schema, text: Uint8Array): z.infer<Schema> {
  return checked(check(schema, parseText(decode(text))));
}

/**
 * Does the same in slices, each some milliseconds at most: one member of a list is not divided.
 *
 * @param cuts - Where the scan found that the text can be cut.
 * @throws {OrchestratorError} `PROTOCOL_ERROR`, as {@link parseMessage}.
 */
export function* parseInSlices<Schema extends MessageSchema>(
  schema: Schema,
  { text, cuts }: { text: Uint8Array; cuts: readonly TextCut[] },
): Work<z.infer<Schema>> {
  if (text.length <= fragmentBytes) return parseScanned(schema, text);
  return checked(yield* checkInSlices(schema, yield* parsePiecesOf(text, cuts)));
}

function checked<Value>(result: Checked<Value>): Value {
  if ("data" in result) return result.data;
  throw new OrchestratorError("PROTOCOL_ERROR", {
    message: "The peer sent a message that is unknown or has a wrong field.",
    details: { issues: result.found },
  });
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch (cause) {
    throw new OrchestratorError("PROTOCOL_ERROR", {
      message: "The peer sent text that is not UTF-8.",
      cause,
    });
  }
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw noJson(cause);
  }
}

function* parsePiecesOf(text: Uint8Array, cuts: readonly TextCut[]): Work<unknown> {
  try {
    return yield* parsePieces(text, { cuts, decode });
  } catch (cause) {
    throw cause instanceof SyntaxError ? noJson(cause) : cause;
  }
}

function noJson(cause: unknown): OrchestratorError {
  return new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sent text that is not JSON.", cause });
}
