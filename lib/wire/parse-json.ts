/** Untrusted bytes or text to a checked message; whatever is wrong is a `PROTOCOL_ERROR`. */
import type { z } from "zod";
import { toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import { scanText } from "./scan-text.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** Values in a message of a handshake, and in whatever else names no limit of its own. */
const defaultMaxNodes = 10_000;

/** The schema stops at the first fault in a list or object: a message that is nothing but faults costs as little as one that has one. */
const stopsEarly: z.core.ParseContextInternal<z.core.$ZodIssue> = { abortEarly: true };

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
  const issues = check(schema, parseText(decode(text)));
  if ("data" in issues) return issues.data;
  throw new OrchestratorError("PROTOCOL_ERROR", {
    message: "The peer sent a message that is unknown or has a wrong field.",
    details: { issues: issues.found },
  });
}

function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { data: z.infer<Schema> } | { found: string[] } {
  try {
    const parsed = schema.safeParse(value, stopsEarly);
    if (parsed.success) return { data: parsed.data };
    return {
      found: parsed.error.issues.slice(0, 5).map((issue) => `${issue.path.join(".")}: ${issue.code}`),
    };
  } catch {
    // More faults in one place than a call takes arguments.
    return { found: [": too_many"] };
  }
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
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sent text that is not JSON.", cause });
  }
}
