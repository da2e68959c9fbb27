/** How far the self check of the audit log has come, and what was told of it: one document, which every process reads before it goes on. */
import { systemCaller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { toJsonObject } from "../json.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { placeOf, readAnchor } from "./anchor.ts";
import type { Place } from "./chain.ts";

/** As it is stored. */
export interface AuditCheck {
  /** Up to where the events were found to fit when they were new. */
  verified: Place;
  /** Up to where the pass over the whole log has come; null where none is under way. */
  pass: Place | null;
  /** When the last pass ended, fleet time, milliseconds since 1970. */
  passed_at: number;
  /** The first event of the whole log that does not fit, as it was told last; null where all did when that was looked at last. */
  bad: number | null;
  /** The same of the new events. */
  new_bad: number | null;
}

type Stored = StoredDocument<AuditCheck>;
/** What was found: in the whole log, or in new events. */
type Found = { bad: number } | { new_bad: number };

const place = { collection: "settings", key: "audit_check" } as const;

export class CheckRecord {
  readonly #context: Context;
  /** What there was no space for, with the revision that it is built on. */
  #unwritten: Stored | null = null;

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Where nothing was checked yet, the new events are all from the anchor on, and that is a pass. What this process could not write holds
   * until somebody writes another.
   */
  async read(): Promise<Stored> {
    const { storage, fleetTime } = this.#context;
    const stored = await storage.get<AuditCheck>(place.collection, place.key);
    if (this.#unwritten?.revision === (stored?.revision ?? 0)) return this.#unwritten;
    if (stored) return stored;
    const verified = placeOf(await readAnchor(this.#context));
    const value = { verified, pass: null, passed_at: fleetTime.now(), bad: null, new_bad: null };
    return { key: place.key, value, revision: 0 };
  }

  /**
   * Notes what has changed; writes nothing where that is nothing. Where there is no space this process alone knows it: a note saves work,
   * and must not keep what is behind it from being looked at.
   *
   * @throws {OrchestratorError} `REVISION_CONFLICT` where somebody else has noted something since it was read.
   */
  async note(before: Stored, change: Partial<AuditCheck>): Promise<Stored> {
    const after = { ...before.value, ...change };
    if (JSON.stringify(after) === JSON.stringify(before.value)) return before;
    try {
      const { revisions } = await this.#context.commit(systemCaller, [toPut(before, after)]);
      return { ...before, value: after, revision: revisions[0]! };
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
      return (this.#unwritten = { ...before, value: after });
    }
  }

  /**
   * Tells of the first event that does not fit, in one step with the note that it is told: once, until it is another one, or all fitted in between.
   * With the reserve: somebody must hear of it also where the disk is full.
   *
   * @throws {OrchestratorError} `REVISION_CONFLICT`, as {@link note}; `STORAGE_FULL` where the reserve is used up, too.
   */
  async tell(before: Stored, found: Found, change: Partial<AuditCheck> = {}): Promise<void> {
    const { bad, new_bad } = before.value;
    const first = "bad" in found ? found.bad : found.new_bad;
    if (first === bad || first === new_bad) return void (await this.note(before, { ...change, ...found }));
    const put = toPut(before, { ...before.value, ...change, ...found });
    await this.#context.commitWithReserve(systemCaller, [put], auditInvalid(first));
  }
}

function toPut({ revision }: Stored, value: AuditCheck): Write {
  return { kind: "put", ...place, value: toJsonObject(value), expected: revision };
}

function auditInvalid(first: number): EventInput {
  return {
    type: "audit.invalid",
    summary: `The audit log does not fit from event ${first} on: it was changed, or is damaged`,
    metadata: { first_bad_sequence: first },
  };
}
