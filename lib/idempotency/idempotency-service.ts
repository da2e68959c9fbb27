/**
 * Calls that may be sent again without being made again.
 *
 *   (nothing) --the call commits, and the claim with it--> succeeded, where the answer is known by then | begun
 *       \                                                                                                   |
 *        \--it ends without a commit--> succeeded | refused | (nothing)      the call ends --> succeeded | refused | unknown
 *
 * The effect and the claim are one commit: a process that is killed before has done nothing, and the call is made by the
 * repetition; one that is killed after it answers as the call did where the effect is that one commit. `begun` is what is left of
 * calls that go on after it, such as those that reach a machine: their effect is there, and how they ended is not known here.
 */
import type { Caller, OperatorCaller } from "../callers/caller.ts";
import { permissionTable } from "../callers/permissions.ts";
import type { CallMethod } from "../cluster/cluster.ts";
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { ErrorCode } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { keepRounds } from "../upkeep/rounds.ts";
import {
  Claim,
  endElsewhere,
  endMethod,
  findCall,
  madeElsewhere,
  replay,
  requireSame,
  unknownAnswer,
} from "./claim.ts";
import type { CallDocument } from "./documents.ts";
import { holdsSecrets, toCanonicalText, type KeyedCall } from "./keyed-call.ts";
import { shortenTooLong } from "./shorten-too-long.ts";

const keptMs = 24 * 3_600_000;
const forgetEveryMs = 600_000;
/** How many calls are forgotten with one commit. */
const forgetAtOnce = 100;
/** How many calls of one operator are kept at a time. */
const mostCalls = 10_000;
/** The longest answer that is kept, in bytes of JSON. */
const longestAnswer = 65_536;
/** How many bytes of answers of one operator are kept at a time; of what goes beyond, only that the call was made. */
const mostBytes = 8 * 1024 * 1024;
/** Between two commits that forget. */
const pauseMs = 100;
const nothingKept = { calls: 0, bytes: 0 };

const collection = "idempotent_calls";

/** After these nothing has happened, and the same or a mended call may follow with the same key. */
const forgotten: ReadonlySet<ErrorCode> = new Set([
  "VALIDATION_FAILED",
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "PRECONDITION_FAILED",
]);

interface Running {
  fingerprint: string;
  outcome: Promise<unknown>;
}

/** Makes a call once, however often it is sent with the same key within 24 hours. */
export class IdempotencyService {
  readonly #context: Context;
  readonly #running = new Map<string, Running>();
  /** How many calls of each operator are kept, and the bytes of their answers. */
  readonly #kept = new Map<string, { calls: number; bytes: number }>();
  #secret: Uint8Array | null = null;
  /** What is being forgotten: who comes with such a key waits, and finds it free. */
  #forgetting: Promise<unknown> = Promise.resolve();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Makes ready, and forgets from now on what has expired. `secret` is the orchestrator's own. The function returned ends it. */
  async start(secret: Uint8Array): Promise<() => Promise<void>> {
    const { crypto, storage, clock, logger } = this.#context;
    this.#secret = crypto.deriveKey(secret, new Uint8Array(0), "fleetwright/1 idempotency", 32);
    for await (const { value } of eachDocument<CallDocument>(storage, collection)) this.#count(value, 1);
    return keepRounds({
      clock,
      everyMs: forgetEveryMs,
      pauseMs,
      round: () => this.#forgetExpired(),
      failed: (error) => logger.warn("Old idempotency keys were not removed.", { error }),
    });
  }

  /** What other processes may ask of this one: to hear when a call is over that it makes. */
  get clusterCalls(): [method: string, answers: CallMethod][] {
    const end: CallMethod = async ({ body }) => {
      await this.#running.get(String(body["id"]))?.outcome.catch(() => {});
      return {};
    };
    return [[endMethod, end]];
  }

  /** As {@link Idempotency.once}. */
  async once<Output>(
    caller: Caller,
    call: KeyedCall,
    run: (caller: Caller) => Promise<Output>,
  ): Promise<Output> {
    if (!/^[\x21-\x7e]{1,255}$/.test(call.key)) {
      throw new OrchestratorError("VALIDATION_FAILED", {
        message: "An idempotency key must be 1 to 255 visible ASCII characters.",
      });
    }
    // What needs no session is a sign-in: its answer is a secret, and kept nowhere.
    if (caller.kind !== "operator" || permissionTable[call.permission] === "anyone") return run(caller);
    await this.#context.authorize(caller, call.permission);
    const { crypto } = this.#context;
    const id = toHex(crypto.sha256(toUtf8(`${caller.operator_id}\n${call.permission}\n${call.key}`)));
    const fingerprint = await this.#fingerprint(call);
    const running = this.#running.get(id);
    if (running !== undefined) {
      requireSame(running.fingerprint, fingerprint);
      return running.outcome as Promise<Output>;
    }
    const outcome = this.#run(caller, { id, fingerprint }, run);
    this.#running.set(id, { fingerprint, outcome });
    try {
      return await outcome;
    } finally {
      this.#running.delete(id);
    }
  }

  async #run<Output>(
    caller: OperatorCaller,
    { id, fingerprint }: { id: string; fingerprint: string },
    run: (caller: Caller) => Promise<Output>,
  ): Promise<Output> {
    await this.#forgetting;
    const before = await findCall(this.#context, id);
    if (before !== null && before.value.expires_at > (await this.#context.retentionClock.now())) {
      requireSame(before.value.fingerprint, fingerprint);
      return replay(await endElsewhere(this.#context, id, before.value)) as Output;
    }
    const claim = await this.#claim(caller, { id, fingerprint, before });
    // Counted for as long as it may be written: of many at once none may take the place of another.
    this.#count(claim.call, 1);
    const counted = claim.call;
    try {
      const [made] = await Promise.allSettled([(async () => run({ ...caller, claim }))()]);
      await this.#settle(claim, () => this.#keepEnd(claim, made));
      const other = claim.isLanded ? null : await madeElsewhere(this.#context, claim);
      if (other !== null) return replay(other) as Output;
      if (made.status === "rejected") throw made.reason;
      return made.value;
    } finally {
      this.#count(counted, -1);
      if (claim.isLanded) this.#count(claim.call, 1);
      if (claim.isLanded && before !== null) this.#count(before.value, -1);
    }
  }

  async #claim(
    { operator_id }: OperatorCaller,
    {
      id,
      fingerprint,
      before,
    }: { id: string; fingerprint: string; before: StoredDocument<CallDocument> | null },
  ): Promise<Claim> {
    const now = await this.#context.retentionClock.now();
    const kept = this.#kept.get(operator_id) ?? nothingKept;
    if (before === null && kept.calls >= mostCalls) throw await this.#tooMany(operator_id, now);
    const { name: process } = this.#context.cluster;
    const expires_at = now + keptMs;
    const call: CallDocument = { operator_id, fingerprint, expires_at, status: "begun", process };
    const longest = Math.max(0, Math.min(longestAnswer, mostBytes - kept.bytes));
    return new Claim(id, { call, revision: before?.revision ?? 0, longestAnswer: longest });
  }

  /** The call has had its effect: that it could not be noted must not make a failure of it. The claim stays, as of a crash. */
  async #settle({ id }: Claim, note: () => Promise<void>): Promise<void> {
    try {
      await note();
    } catch (error) {
      this.#context.logger.warn("The answer to a call with an idempotency key was not kept.", { id, error });
    }
  }

  async #keepEnd(claim: Claim, made: PromiseSettledResult<unknown>): Promise<void> {
    if (made.status === "rejected") await this.#keepFailure(claim, made.reason);
    else if (!claim.isAnsweredWith(made.value)) await this.#keep(claim, "succeeded", made.value);
  }

  async #keepFailure(claim: Claim, error: unknown): Promise<void> {
    if (!isOrchestratorError(error) || error.code === "INTERNAL")
      return this.#keep(claim, "unknown", undefined);
    if (error.retryable || forgotten.has(error.code)) {
      // What has changed something can't be made again with this key; what has not is free.
      if (claim.isLanded) await this.#keep(claim, "unknown", undefined);
      return;
    }
    const { code, message, details, issues } = error;
    await this.#keep(claim, "refused", { code, message, details, issues });
  }

  async #keep(claim: Claim, status: CallDocument["status"], answer: unknown): Promise<void> {
    const text = JSON.stringify(answer) as string | undefined;
    const size = text === undefined ? 0 : toUtf8(text).length;
    const { answer: _, ...call } = claim.call;
    const left = mostBytes - (this.#kept.get(call.operator_id)?.bytes ?? 0);
    const isTooLong = size > Math.min(longestAnswer, left);
    const ended: CallDocument = {
      ...call,
      status: isTooLong ? "unknown" : status,
      ...(text !== undefined && !isTooLong && { answer: text }),
    };
    // Counted before it is written: of many at once none may take what another was given.
    this.#count(ended, 1);
    try {
      await retryOnConflict(async (before) => {
        // Never written by this process, it is the call of the one that was faster.
        if (before > 0 && !claim.isLanded) return;
        const now = before > 0 ? await this.#sameBegun(claim) : { value: ended, revision: claim.revision };
        const value: CallDocument = { ...ended, expires_at: now.value.expires_at };
        const { revisions } = await this.#context.storage.commit([claim.put(value, now.revision)]);
        claim.ended(value, revisions[0] ?? 0);
      });
    } finally {
      this.#count(ended, -1);
    }
  }

  /**
   * The call as another process left it, which may have shortened its key: it can't tell that from one of a process that was killed.
   *
   * @throws {OrchestratorError} `IDEMPOTENCY_ANSWER_UNKNOWN` where that is no longer this call.
   */
  async #sameBegun({ id, call }: Claim): Promise<StoredDocument<CallDocument>> {
    const stored = await findCall(this.#context, id);
    const { status, fingerprint, expires_at = Infinity } = stored?.value ?? {};
    if (!stored || status !== "begun" || fingerprint !== call.fingerprint || expires_at > call.expires_at)
      throw unknownAnswer("its key was forgotten meanwhile");
    return stored;
  }

  /** Tells when the oldest key of an operator will be forgotten. */
  async #tooMany(operatorId: string, now: number): Promise<OrchestratorError> {
    const query = { index: "by_operator", equals: [operatorId], limit: 1 };
    const { items } = await this.#context.storage.list<CallDocument>(collection, query);
    const waitMs = Math.max(0, (items[0]?.value.expires_at ?? now) - now) + forgetEveryMs;
    return new OrchestratorError("RATE_LIMITED", {
      message: `No more than ${mostCalls} idempotency keys may be used in 24 hours.`,
      details: { retry_after_seconds: Math.ceil(waitMs / 1000) },
    });
  }

  /** Of what holds a secret with a key that is not stored beside it: who has the files can't try guesses. */
  async #fingerprint({ permission, input, ifMatch }: KeyedCall): Promise<string> {
    if (this.#secret === null) throw new OrchestratorError("UNAVAILABLE");
    // JSON has no line end of its own.
    const text = toCanonicalText(input) + (typeof ifMatch === "string" ? `\n${ifMatch}` : "");
    const key = holdsSecrets(permission) ? await this.#context.inputKey?.() : undefined;
    return toHex(this.#context.crypto.hmac(key ?? this.#secret, toUtf8(text)));
  }

  #count({ operator_id, answer = "" }: Readonly<CallDocument>, change: 1 | -1): void {
    const { calls, bytes } = this.#kept.get(operator_id) ?? nothingKept;
    const after = { calls: calls + change, bytes: bytes + change * toUtf8(answer).length };
    if (after.calls > 0) this.#kept.set(operator_id, after);
    else this.#kept.delete(operator_id);
  }

  /** In small commits, so that nobody waits long behind one. */
  async *#forgetExpired(): AsyncGenerator<void> {
    const { storage, retentionClock } = this.#context;
    yield* shortenTooLong(this.#context, { keptMs, isRunning: (key) => this.#running.has(key) });
    for (;;) {
      const query = { index: "by_expiry", to: await retentionClock.now(), limit: forgetAtOnce };
      const { items } = await storage.list<CallDocument>(collection, query);
      // One that is being used again is written anew by its call.
      const free = items.filter(({ key }) => !this.#running.has(key));
      if (free.length === 0) return;
      const committed = storage.commit(
        free.map(({ key, revision }): Write => ({ kind: "delete", collection, key, expected: revision })),
        { reserve: true },
      );
      this.#forgetting = committed.catch(() => {});
      await committed;
      for (const { value } of free) this.#count(value, -1);
      yield;
    }
  }
}
