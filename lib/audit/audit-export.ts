/**
 * Events of the audit log outside it, each a line of canonical JSON that can be checked without a server: beside the event it has
 * `previous_hash`, so `hash` is the SHA-256 of that and `{ at, sequence, value }`, as in the log. `at` is `recorded_at` in milliseconds
 * since 1970, `value` the event without `sequence`, `recorded_at`, `hash` and `previous_hash`.
 */
import { OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { JsonObject } from "../json.ts";
import { chainHash } from "../storage/hash-chain.ts";
import type { AuditEvent } from "./schemas.ts";

/** Whether exported events are those that were in the log. */
export interface AuditExportCheck {
  /** Whether every line fits the one before it. */
  valid: boolean;
  /** How many events fit. */
  events: number;
  /** Sequence of the first; null where there is none. */
  from_sequence: number | null;
  /** Sequence of the last that fits; null where there is none. */
  to_sequence: number | null;
  /** What the first is chained to; null where there is none. */
  previous_hash: string | null;
  /** Hash of the last that fits: `audit.pruned` has it as `through_hash`. Null where there is none. */
  head_hash: string | null;
  /** Number of the line that does not fit, from 1; null where all do. */
  first_bad_line: number | null;
}

/** Puts events, oldest first, into lines, and checks on the way that none is missing or was changed. */
export class AuditExport {
  #sequence: number;
  #hash: string;

  /** @param after - Sequence and hash of the event before the first; 0 and zeros at the beginning of the log. */
  constructor(after: { sequence: number; hash: string }) {
    this.#sequence = after.sequence;
    this.#hash = after.hash;
  }

  /** Sequence and hash of the event that was added last. */
  get head(): { sequence: number; hash: string } {
    return { sequence: this.#sequence, hash: this.#hash };
  }

  /**
   * Adds the next event. Returns its line, without a line break.
   *
   * @throws {OrchestratorError} `STORAGE_CORRUPT` where it does not follow the one before.
   */
  add(event: Readonly<AuditEvent>): string {
    const line: JsonObject = { ...(event as object as JsonObject), previous_hash: this.#hash };
    if (event.sequence !== this.#sequence + 1 || !fits(line)) {
      throw new OrchestratorError("STORAGE_CORRUPT", {
        message: `Event ${event.sequence} does not follow event ${this.#sequence} of the audit log.`,
      });
    }
    this.#sequence = event.sequence;
    this.#hash = event.hash;
    return canonicalJson(line);
  }
}

/** Checks lines of {@link AuditExport}, of one export or of several that follow each other. Never throws for what is in them. */
export async function checkAuditExport(lines: AsyncIterable<string>): Promise<AuditExportCheck> {
  const check: AuditExportCheck = {
    valid: true,
    events: 0,
    from_sequence: null,
    to_sequence: null,
    previous_hash: null,
    head_hash: null,
    first_bad_line: null,
  };
  let number = 0;
  for await (const text of lines) {
    number += 1;
    const line = parseLine(text);
    const follows =
      check.events === 0 ||
      (line?.["sequence"] === check.to_sequence! + 1 && line["previous_hash"] === check.head_hash);
    if (line === null || !follows || !fits(line)) return { ...check, valid: false, first_bad_line: number };
    check.from_sequence ??= Number(line["sequence"]);
    check.previous_hash ??= String(line["previous_hash"]);
    check.to_sequence = Number(line["sequence"]);
    check.head_hash = String(line["hash"]);
    check.events += 1;
  }
  return check;
}

function parseLine(text: string): JsonObject | null {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === "object" && line !== null && !Array.isArray(line) ? (line as JsonObject) : null;
  } catch {
    return null;
  }
}

function fits({ sequence, recorded_at, hash, previous_hash, ...value }: JsonObject): boolean {
  if (typeof sequence !== "number" || typeof recorded_at !== "string") return false;
  if (typeof hash !== "string" || typeof previous_hash !== "string") return false;
  try {
    return chainHash(previous_hash, { sequence, at: Date.parse(recorded_at), value }) === hash;
  } catch {
    // No JSON that is ever hashed: too deep, or half a character.
    return false;
  }
}
