/** Untrusted bytes or text to a checked message; whatever is wrong is a `PROTOCOL_ERROR`. */
import type { z } from "zod";
import { OrchestratorError } from "../errors.ts";
import { maxJsonDepth } from "./limits.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const quote = 0x22;
const backslash = 0x5c;
/** An escape that may be half of a surrogate pair; whether the other half is there shows only after parsing. */
const surrogateEscape = /\\u[dD][89a-fA-F]/;
const loneSurrogate = /\p{Surrogate}/u;

/**
 * Reads one JSON message of a peer and checks it against a schema.
 *
 * @throws {OrchestratorError} `PROTOCOL_ERROR` for bytes that are not UTF-8, not JSON, nested beyond {@link maxJsonDepth},
 * of an unknown type, or with a field that the schema does not know. `details.issues` names at most five places, never values.
 */
export function parseMessage<Schema extends z.ZodType>(
  schema: Schema,
  input: Uint8Array | string,
): z.infer<Schema> {
  const parsed = schema.safeParse(parseText(typeof input === "string" ? input : decode(input)));
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 5).map((issue) => `${issue.path.join(".")}: ${issue.code}`);
  throw new OrchestratorError("PROTOCOL_ERROR", {
    message: "The peer sent a message that is unknown or has a wrong field.",
    details: { issues },
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
  // Before the parser and the schemas see it: both recurse, and a stack overflow is no way to refuse a message.
  if (isTooDeep(text)) {
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sent a message nested too deeply." });
  }
  try {
    // Such a text has no UTF-8 form: it could be neither hashed nor signed later on.
    return surrogateEscape.test(text) ? JSON.parse(text, refuseLoneSurrogates) : JSON.parse(text);
  } catch (cause) {
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sent text that is not JSON.", cause });
  }
}

function refuseLoneSurrogates(key: string, value: unknown): unknown {
  if (loneSurrogate.test(key) || (typeof value === "string" && loneSurrogate.test(value))) {
    throw new SyntaxError("A text is not well-formed Unicode.");
  }
  return value;
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (inString) {
      if (unit === backslash) index += 1;
      else if (unit === quote) inString = false;
    } else if (unit === quote) inString = true;
    else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      if (depth > maxJsonDepth) return true;
    } else if (unit === 0x7d || unit === 0x5d) depth -= 1;
  }
  return false;
}
