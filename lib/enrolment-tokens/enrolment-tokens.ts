import type { z } from "zod";
import { answering, answeringOnce, toSubject, type Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import { toBase64Url } from "../internal/base64url.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { dayMs } from "../internal/durations.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { EnrolmentTokenDocument } from "./documents.ts";
import { hashOf } from "./enrolment-token-service.ts";
import {
  createEnrolmentTokenInput,
  enrolmentTokenIdInput,
  listEnrolmentTokensInput,
  type CreatedEnrolmentToken,
  type EnrolmentToken,
} from "./schemas.ts";
import { toEnrolmentToken, tokenSubject } from "./token-view.ts";

const collection = "enrolment_tokens";

/** For how long it can still be told why a token does not count, after it has expired. */
const rememberedMs = 30 * dayMs;
/** How many tokens are forgotten with each new one: more than are made, so that they never pile up. */
const forgetAtOnce = 8;

/** Tokens that stand in for an operator's approval: what comes with one is approved and tagged, as often as it says. */
export class EnrolmentTokens {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Lists tokens, newest first; none of them says what it is. */
  async list(
    caller: Caller,
    input: z.input<typeof listEnrolmentTokensInput> = {},
  ): Promise<Page<EnrolmentToken>> {
    await this.#context.authorize(caller, "enrolmentTokens.list");
    const { limit = 50, cursor } = parseInput(listEnrolmentTokensInput, input);
    const page = await this.#context.storage.list<EnrolmentTokenDocument>(collection, {
      order: "desc",
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor(collection, {}, cursor)) }),
    });
    const next_cursor = page.next === null ? null : encodeCursor(collection, {}, page.next);
    return { items: page.items.map((token) => this.#shown(token)), next_cursor };
  }

  /**
   * Reads what is known of a token.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof enrolmentTokenIdInput>): Promise<EnrolmentToken> {
    await this.#context.authorize(caller, "enrolmentTokens.get");
    return this.#shown(await this.#read(parseInput(enrolmentTokenIdInput, input).id));
  }

  /**
   * Makes a token. It is in the answer and nowhere else: what is stored is its hash, and a call that is repeated with its idempotency key
   * is refused (`IDEMPOTENCY_ANSWER_UNKNOWN`).
   */
  async create(
    caller: Caller,
    input: z.input<typeof createEnrolmentTokenInput> = {},
  ): Promise<CreatedEnrolmentToken> {
    await this.#context.authorize(caller, "enrolmentTokens.create");
    const {
      name,
      uses = 1,
      expires_in_seconds = 86_400,
      tags = {},
    } = parseInput(createEnrolmentTokenInput, input);
    const { crypto, ids, clock, fleetTime } = this.#context;
    const token = `fwt_${toBase64Url(crypto.randomBytes(32))}`;
    const lastsMs = expires_in_seconds * 1_000;
    const nowMs = clock.now();
    const document: EnrolmentTokenDocument = {
      id: ids.next(),
      hash: hashOf(crypto, token),
      ...(name !== undefined && { name }),
      uses,
      used: 0,
      tags,
      ends_ms: fleetTime.now() + lastsMs,
      expires_at: toTimestamp(nowMs + lastsMs),
      created_at: toTimestamp(nowMs),
      created_by: toSubject(caller).name,
    };
    const write = putOf(document, 0);
    await this.#context.commit(answeringOnce(caller), [write, ...(await this.#forgettable())], {
      type: "enrolmentToken.created",
      target: tokenSubject(document),
      summary: `An enrolment token for ${uses === 1 ? "one machine" : `${uses} machines`} was created`,
      metadata: { uses, expires_at: document.expires_at, tags },
    });
    return { ...this.#shown({ value: document, revision: 1 }), token };
  }

  /**
   * Revokes a token: from now on it approves nobody. What it has approved stays so.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it is revoked already; `PRECONDITION_FAILED`.
   */
  async revoke(
    caller: Caller,
    input: z.input<typeof enrolmentTokenIdInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#context.authorize(caller, "enrolmentTokens.revoke");
    const { id } = parseInput(enrolmentTokenIdInput, input);
    await retryOnConflict(async () => {
      const stored = await this.#read(id);
      requireVersion(stored, options);
      const { value: token, revision } = stored;
      if (token.revoked_at !== undefined)
        throw new OrchestratorError("INVALID_TRANSITION", { message: "The token is revoked already." });
      const write = putOf({ ...token, revoked_at: this.#context.timestamp() }, revision);
      await this.#context.commit(answering(caller), [write], {
        type: "enrolmentToken.revoked",
        target: tokenSubject(token),
        summary: `The enrolment token ${token.name ?? token.id} was revoked`,
        metadata: { used: token.used, uses: token.uses },
      });
    });
  }

  async #read(id: string): Promise<StoredDocument<EnrolmentTokenDocument>> {
    const token = await this.#context.storage.get<EnrolmentTokenDocument>(collection, id);
    if (!token) throw new OrchestratorError("NOT_FOUND", { message: `There is no enrolment token ${id}.` });
    return token;
  }

  #shown(token: Pick<StoredDocument<EnrolmentTokenDocument>, "value" | "revision">): EnrolmentToken {
    return toEnrolmentToken(token, this.#context.fleetTime.now());
  }

  /** The writes that forget tokens which ended long ago. */
  async #forgettable(): Promise<Write[]> {
    const to = this.#context.fleetTime.now() - rememberedMs;
    const { items } = await this.#context.storage.list(collection, {
      index: "by_end",
      to,
      limit: forgetAtOnce,
    });
    return items.map(({ key }) => ({ kind: "delete", collection, key }));
  }
}

function putOf(document: EnrolmentTokenDocument, expected: number): Write {
  return { kind: "put", collection, key: document.id, value: toJsonObject(document), expected };
}
