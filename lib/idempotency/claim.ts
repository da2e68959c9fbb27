import type { CallClaim } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError, OrchestratorError, type ErrorCode } from "../errors.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { CallDocument } from "./documents.ts";

const collection = "idempotent_calls";

/** Asks the process that makes a call to answer when it is over. */
export const endMethod = "idempotency.end";
/** How long that process is waited for. */
const endMs = 60_000;

/**
 * The claim of a call that is being made: the first commit of the call takes it along, so that there is no effect without
 * the claim, and no claim without an effect.
 */
export class Claim implements CallClaim {
  readonly id: string;
  readonly #longestAnswer: number;
  #call: CallDocument;
  #revision: number;
  #isTold = false;
  #isSecret = false;
  #state: "new" | "riding" | "landed" = "new";

  /**
   * @param revision - Of the expired call that the key was used for before; 0 where there is none.
   * @param longestAnswer - Bytes of JSON that may be kept with the effect.
   */
  constructor(id: string, parts: { call: CallDocument; revision: number; longestAnswer: number }) {
    this.id = id;
    this.#call = parts.call;
    this.#revision = parts.revision;
    this.#longestAnswer = parts.longestAnswer;
  }

  /** The document as it was written last, or will be. */
  get call(): Readonly<CallDocument> {
    return this.#call;
  }

  /** What a write of the document has to expect. */
  get revision(): number {
    return this.#revision;
  }

  /** Whether the effect is on disk, and the claim with it. */
  get isLanded(): boolean {
    return this.#state === "landed";
  }

  /** Whether nothing is left to be kept: this answer is on disk, too, or must never be. */
  isAnsweredWith(answer: unknown): boolean {
    if (this.#isSecret) return this.isLanded;
    return this.isLanded && this.#isTold && JSON.stringify(answer) === this.#call.answer;
  }

  tell(answer?: unknown): void {
    if (this.#state !== "new") return;
    const text = JSON.stringify(answer) as string | undefined;
    this.#isTold = text === undefined || toUtf8(text).length <= this.#longestAnswer;
    const { answer: _, ...call } = this.#call;
    this.#call = {
      ...call,
      status: this.#isTold ? "succeeded" : "begun",
      ...(this.#isTold && text !== undefined && { answer: text }),
    };
  }

  conceal(): void {
    this.#isSecret = true;
  }

  ride(): Write | null {
    if (this.#state !== "new") return null;
    this.#state = "riding";
    return this.put(this.#call, this.#revision);
  }

  /** What writes the call as it is by then. */
  put(call: Readonly<CallDocument>, expected: number): Write {
    return { kind: "put", collection, key: this.id, value: { ...call }, expected };
  }

  /** What the call came to is on disk. */
  ended(call: CallDocument, revision: number): void {
    this.#call = call;
    this.landed(revision);
  }

  landed(revision: number): void {
    this.#state = "landed";
    this.#revision = revision;
  }

  missed(error: unknown): unknown {
    this.#state = "new";
    // Another process took the key in this moment.
    const isTaken =
      isOrchestratorError(error, "REVISION_CONFLICT") && error.details["collection"] === collection;
    return isTaken ? unknownAnswer("it was begun by another process") : error;
  }
}

/** The refusal to make a call again of which nobody can tell what it came to. */
export function unknownAnswer(reason: string): OrchestratorError {
  return new OrchestratorError("IDEMPOTENCY_ANSWER_UNKNOWN", {
    message: `A call with this idempotency key was begun before: ${reason}. Read what it changed.`,
  });
}

/** Refuses a key that was used for another call. */
export function requireSame(fingerprint: string, given: string): void {
  if (fingerprint !== given) throw new OrchestratorError("IDEMPOTENCY_KEY_REUSED");
}

/** Answers as a call that was made before: returns what it returned, or throws its refusal. */
export function replay({ status, answer }: Readonly<CallDocument>): unknown {
  if (status === "begun")
    throw unknownAnswer("it took effect, at least in part, and its answer was not kept");
  if (status === "unknown")
    throw unknownAnswer("it failed unexpectedly, or its answer was too large to keep");
  const value: unknown = answer === undefined ? undefined : JSON.parse(answer);
  if (status === "succeeded") return value;
  const { code, ...refusal } = value as { code: ErrorCode; message: string };
  throw new OrchestratorError(code, refusal);
}

/** A call that was made with a key, under the hash of that; null where none was. */
export function findCall({ storage }: Context, id: string): Promise<StoredDocument<CallDocument> | null> {
  return storage.get<CallDocument>(collection, id);
}

/**
 * The call as another process made it with the key of a claim, while this one wrote nothing; null where none did.
 *
 * @throws {OrchestratorError} `IDEMPOTENCY_KEY_REUSED` where that was another call.
 */
export async function madeElsewhere(
  context: Context,
  { id, call, revision }: Claim,
): Promise<Readonly<CallDocument> | null> {
  // What this call came to is known: that nothing can be read must not make a failure of it.
  const stored = await findCall(context, id).catch(() => null);
  if (stored === null || stored.revision === revision) return null;
  requireSame(stored.value.fingerprint, call.fingerprint);
  return endElsewhere(context, id, stored.value);
}

/** A call that was begun, as it is when the process that makes it is done with it; as it is now where there is no such process. */
export async function endElsewhere(
  context: Context,
  id: string,
  call: Readonly<CallDocument>,
): Promise<Readonly<CallDocument>> {
  const { cluster, logger } = context;
  if (call.status !== "begun" || call.process === undefined || call.process === cluster.name) return call;
  try {
    await cluster.call(call.process, endMethod, { body: { id }, timeoutMs: endMs });
  } catch (error) {
    logger.debug("The process that makes a call was not heard of.", { id, error });
  }
  return (await findCall(context, id))?.value ?? call;
}
