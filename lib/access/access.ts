import type { z } from "zod";
import { invalidToken } from "../callers/authorizer.ts";
import { answering } from "../callers/caller.ts";
import type { AnonymousCaller, Caller, CallOrigin, OperatorCaller } from "../callers/caller.ts";
import { Denials } from "../callers/denials.ts";
import type { Permission } from "../callers/permissions.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { fromHex, nodeIdOf } from "../crypto/encoding.ts";
import { decodeBytes, parsePublicKey } from "../crypto/parse-public-key.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { AccessService } from "./access-service.ts";
import type { OperatorDocument } from "./documents.ts";
import { toOperator } from "./operator-registry.ts";
import { challengeInput, verifyInput, type Challenge, type Operator, type Session } from "./schemas.ts";
import { SignInLimits } from "./sign-in-limits.ts";

/** Refused sign-ins that are recorded in a minute. */
const refusedPerMinute = 60;

/** Who may do what: signing in, sessions and permissions. */
export class Access {
  readonly #context: Context;
  readonly #service: AccessService;
  readonly #signIns: SignInLimits;
  /** Null: sessions are not limited. */
  readonly #calls: RateLimiter | null;
  readonly #refusals: Denials;

  constructor(context: Context, service: AccessService) {
    this.#context = context;
    this.#service = service;
    const { clock, options } = context;
    this.#signIns = new SignInLimits(clock, options.signInsPerMinute, async (key) => {
      const operator = await service.operators.find(nodeIdOf(key, context.crypto));
      return operator?.key ?? null;
    });
    this.#calls = options.callsPerMinute === null ? null : new RateLimiter(clock, options.callsPerMinute);
    this.#refusals = new Denials(clock, refusedPerMinute);
  }

  /**
   * Begins a sign-in: the text to sign. An unknown key gets one too, so that nobody learns which keys are known.
   *
   * @param input - Its `audience` goes into the text as it is: whoever serves the call refuses one that is not their own, or a server in
   * between could have the text signed for itself.
   * @throws {OrchestratorError} `KEY_REFUSED`; `RATE_LIMITED`.
   */
  async challenge(caller: Caller, input: z.input<typeof challengeInput>): Promise<Challenge> {
    const { public_key, ...rest } = parseInput(challengeInput, input);
    // First: telling whether a key is one costs as much as checking a signature.
    await this.#signIns.take(caller, public_key);
    const key = parsePublicKey(public_key, this.#context.crypto);
    return this.#service.challenges.issue({ ...rest, public_key: key.hex });
  }

  /**
   * Ends a sign-in: checks the signed text and starts a session.
   *
   * @throws {OrchestratorError} `CHALLENGE_INVALID` where it is unknown, expired or used; `SIGNATURE_INVALID`, also for an
   * unknown key; `RATE_LIMITED`.
   */
  async verify(caller: Caller, input: z.input<typeof verifyInput>): Promise<Session> {
    const { challenge_id, signature } = parseInput(verifyInput, input);
    await this.#signIns.take(caller, this.#service.challenges.keyOf(challenge_id));
    try {
      const find = async (key: string): Promise<Readonly<OperatorDocument> | null> =>
        (await this.#service.operators.find(nodeIdOf(fromHex(key)!, this.#context.crypto)))?.value ?? null;
      const operator = await this.#service.challenges.redeem(challenge_id, decodeBytes(signature, 64), find);
      if (!operator) throw new OrchestratorError("SIGNATURE_INVALID");
      return await this.#startSession(caller, operator);
    } catch (error) {
      if (isOrchestratorError(error)) await this.#recordRefusal(caller, error);
      throw error;
    }
  }

  /** Tells who the caller is and when the session ends. */
  async session(caller: Caller): Promise<{ expires_at: string; operator: Operator }> {
    await this.#context.authorize(caller, "auth.session");
    const signedIn = requireOperator(caller);
    const session = await this.#context.storage.get<{ expires_at: number }>("sessions", signedIn.session_id);
    const operator = await this.#service.operators.find(signedIn.operator_id);
    if (!session || !operator) throw new OrchestratorError("UNAUTHENTICATED");
    const expiresAtMs = this.#context.fleetTime.toWall(session.value.expires_at);
    return { expires_at: toTimestamp(expiresAtMs), operator: toOperator(operator) };
  }

  /** Ends the caller's session. */
  async signOut(caller: Caller): Promise<void> {
    await this.#context.authorize(caller, "auth.signOut");
    const signedIn = requireOperator(caller);
    await this.#context.commitWithReserve(
      answering(caller),
      this.#service.sessions.end(signedIn.session_id),
      {
        type: "operator.signedOut",
        summary: `Operator ${signedIn.username} signed out`,
      },
    );
  }

  /**
   * Turns a session token into a caller. Role and existence are read anew, so a change counts from the next call on.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `RATE_LIMITED` where the session has used up its calls.
   */
  async authenticate(token: string | null, origin?: CallOrigin): Promise<OperatorCaller | AnonymousCaller> {
    this.#context.requireStarted();
    const from = origin && { origin };
    if (token === null) return { kind: "anonymous", ...from };
    const session = await this.#service.sessions.find(token);
    this.#calls?.take(session.key);
    const operator = await this.#service.operators.find(session.value.operator_id);
    if (!operator) throw invalidToken();
    const { operator_id, username, role } = operator.value;
    return { kind: "operator", operator_id, username, role, session_id: session.key, ...from };
  }

  /**
   * Refuses a caller who may not use a verb, and records the refusal; of very many in a minute it records the number only, so that
   * nobody fills the audit log with them.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `FORBIDDEN`.
   */
  authorize(caller: Caller, permission: Permission): Promise<void> {
    return this.#context.authorize(caller, permission);
  }

  async #startSession(caller: Caller, signingIn: Readonly<OperatorDocument>): Promise<Session> {
    const { operator_id, username, role } = signingIn;
    const { token, expiresAtMs, writes } = await this.#service.sessions.create(operator_id);
    const signedIn: Caller = {
      kind: "operator",
      operator_id,
      username,
      role,
      session_id: this.#service.sessions.idOf(token),
    };
    const from = { ...signedIn, ...(caller.origin && { origin: caller.origin }) };
    const operator = await retryOnConflict(async () => {
      const seen = await this.#service.operators.touch(operator_id);
      // Removed since the key was looked up: as unknown as if it had never been known.
      if (!seen) throw new OrchestratorError("SIGNATURE_INVALID");
      await this.#context.commitWithReserve(from, [...writes, seen.write], {
        type: "operator.signedIn",
        summary: `Operator ${username} signed in`,
      });
      return seen.operator;
    });
    return { token, expires_at: toTimestamp(expiresAtMs), operator };
  }

  async #recordRefusal(caller: Caller, { code }: OrchestratorError): Promise<void> {
    await this.#refusals.record("", (unrecorded) =>
      this.#context.commit(caller, [], {
        type: "operator.signInRefused",
        summary: `A sign-in was refused: ${code}`,
        metadata: { code, ...(unrecorded > 0 && { unrecorded }) },
      }),
    );
  }
}

function requireOperator(caller: Caller): OperatorCaller {
  if (caller.kind === "operator") return caller;
  throw new OrchestratorError("UNAUTHENTICATED", { message: "Only an operator has a session." });
}
