/** How the two sides of a relayed host speak: lines, each the base64 of a value. */
import { deserialize, serialize } from "node:v8";
import type { ErrorCode } from "../../../lib/errors.ts";
import type { JsonObject } from "../../../lib/json.ts";

/** A call of a method of the machine's host, or of one of its parts below some folders. */
export interface RelayedCall {
  id: number;
  part: "host" | "files" | "users" | "backups";
  below: readonly string[];
  method: string;
  args: readonly unknown[];
  /** Whether the caller blocks until the answer is there. */
  blocks: boolean;
}

/** Ends a call that runs. */
export interface RelayedAbort {
  abort: number;
}

/** What a call came to. */
export interface RelayedAnswer {
  id: number;
  value?: unknown;
  error?: { code: ErrorCode | null; message: string; details: JsonObject };
}

export function toLine(value: RelayedCall | RelayedAbort | RelayedAnswer): string {
  return `${serialize(value).toString("base64")}\n`;
}

export function fromLine(line: string): unknown {
  return deserialize(Buffer.from(line, "base64"));
}
