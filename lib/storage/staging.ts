import { OrchestratorError } from "../errors.ts";
import { chainHashOf, zeroHash } from "./hash-chain.ts";
import type { CommitResult, LogPlace } from "./storage.ts";
import { StoredText } from "./stored-text.ts";
import type { Effect, PreparedWrite } from "./writes.ts";

/** What later writes are decided on. */
export interface Ground {
  /** 0 when there is no such document. */
  revisionOf(collection: string, key: string): number;
  /** The newest entry of a log. */
  headOf(log: string): LogPlace;
  /** The entry before the oldest that is kept. */
  baseOf(log: string): LogPlace;
}

/** What stands before the first entry of a log. */
export function logStart(chained: boolean): LogPlace {
  return { sequence: 0, hash: chained ? zeroHash : null };
}

/**
 * Decides writes on a ground without changing it: a commit that fails leaves no trace, and one on top of it sees its outcome.
 * Stagings stack: one commit on the batch that it is written with, the batch on the documents.
 */
export class Staging implements Ground {
  /** What was decided, in order. */
  readonly effects: Effect[] = [];
  readonly #ground: Ground;
  // Made at their first use: most commits write one document.
  #revisions: Map<string, Map<string, number>> | null = null;
  #heads: Map<string, LogPlace> | null = null;
  #bases: Map<string, LogPlace> | null = null;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  revisionOf(collection: string, key: string): number {
    return this.#revisions?.get(collection)?.get(key) ?? this.#ground.revisionOf(collection, key);
  }

  headOf(log: string): LogPlace {
    return this.#heads?.get(log) ?? this.#ground.headOf(log);
  }

  baseOf(log: string): LogPlace {
    return this.#bases?.get(log) ?? this.#ground.baseOf(log);
  }

  /**
   * Decides one commit: all of its writes, or none and an error.
   *
   * @throws {OrchestratorError} `REVISION_CONFLICT`
   */
  commit(writes: readonly PreparedWrite[]): CommitResult {
    const commit = new Staging(this);
    const result: CommitResult = { revisions: [], sequences: [] };
    for (const write of writes) {
      result.revisions.push(write.kind === "put" ? commit.#put(write) : 0);
      result.sequences.push(write.kind === "append" ? commit.#append(write) : 0);
      if (write.kind === "delete") commit.#delete(write);
      else if (write.kind === "dropBlob") commit.add(write);
    }
    for (const effect of commit.effects) this.add(effect);
    return result;
  }

  /** Takes in an effect that is already decided. */
  add(effect: Effect): void {
    this.effects.push(effect);
    if (effect.kind === "put")
      this.#setRevision(effect.collection, effect.document.key, effect.document.revision);
    else if (effect.kind === "delete") this.#setRevision(effect.collection, effect.key, 0);
    else if (effect.kind === "append") (this.#heads ??= new Map()).set(effect.log, effect.entry);
    else if (effect.kind === "trim") (this.#bases ??= new Map()).set(effect.log, effect.base);
  }

  #put(write: PreparedWrite & { kind: "put" }): number {
    const { collection, key, text } = write;
    const revision = this.#checkExpected(write) + 1;
    this.add({ kind: "put", collection, document: new StoredText(key, revision, text) });
    return revision;
  }

  #delete(write: PreparedWrite & { kind: "delete" }): void {
    const { collection, key } = write;
    if (this.#checkExpected(write) > 0) this.add({ kind: "delete", collection, key });
  }

  #append({ log, at, owned }: PreparedWrite & { kind: "append" }): number {
    const head = this.headOf(log);
    const sequence = head.sequence + 1;
    const { value, text, canonical } = owned;
    const hash = canonical === null ? null : chainHashOf(head.hash ?? zeroHash, { sequence, at, canonical });
    this.add({ kind: "append", log, entry: Object.freeze({ sequence, at, value, hash }), text });
    return sequence;
  }

  #checkExpected({ collection, key, expected }: PreparedWrite & { kind: "put" | "delete" }): number {
    const actual = this.revisionOf(collection, key);
    if (expected === undefined || expected === actual) return actual;
    throw new OrchestratorError("REVISION_CONFLICT", { details: { collection, key, expected, actual } });
  }

  #setRevision(collection: string, key: string, revision: number): void {
    this.#revisions ??= new Map();
    let revisions = this.#revisions.get(collection);
    if (revisions === undefined) this.#revisions.set(collection, (revisions = new Map()));
    revisions.set(key, revision);
  }
}
