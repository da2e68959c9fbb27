import { invalidToken } from "../callers/authorizer.ts";
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { fleetTimeStepMs } from "../fleet-time.ts";
import { toBase64Url } from "../internal/base64url.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { SessionDocument } from "./documents.ts";

/** How often the time of last use is written: often enough for the idle limit, seldom enough to cost nothing. */
const touchEveryMs = 60_000;

/** How many tokens are known by their hash without hashing. */
const mostIds = 1_000;

/** How many sessions that ended are known, so that no call that was begun in them begins to do anything: more than end in the time that one takes to come. */
const mostEnded = 10_000;

/** How many ended sessions are forgotten with each new one. */
const forgetAtOnce = 8;

/** A start after a kill may repeat a minute of the fleet time; what was begun later than that was begun in a time that was wrong. */
const aheadMs = 2 * fleetTimeStepMs;

/** Sessions of operators, timed by the fleet time: no wall clock ends one or keeps it. A token is random and stored only as its hash: who reads the storage can't sign in. */
export class Sessions {
  readonly #context: Context;
  /** Of the tokens that were good of late: hashing one for each call was a tenth of a small read. */
  readonly #ids = new BoundedCache<string>({ entries: mostIds });

  readonly #ended = new BoundedCache<true>({ entries: mostEnded });

  constructor(context: Context) {
    this.#context = context;
    context.feed.follow("sessions", ({ key, document }) => {
      if (!document) this.#ended.set(key, true);
    });
    context.authorizer.hasEnded = (sessionId) => this.#ended.get(sessionId) === true;
  }

  /** Makes a token and the writes that start its session. `expiresAtMs` is by the wall clock, for people. */
  async create(operatorId: string): Promise<{ token: string; expiresAtMs: number; writes: Write[] }> {
    const { crypto, fleetTime, options, storage } = this.#context;
    const token = `fw_${toBase64Url(crypto.randomBytes(32))}`;
    const now = fleetTime.now();
    const expiresAtMs = now + options.sessionMaxSeconds * 1000;
    const value = { operator_id: operatorId, created_at: now, last_used_at: now, expires_at: expiresAtMs };
    const ended = await storage.list("sessions", { index: "by_expiry", to: now, limit: forgetAtOnce });
    return {
      token,
      expiresAtMs: fleetTime.toWall(expiresAtMs),
      writes: [
        { kind: "put", collection: "sessions", key: this.idOf(token), value, expected: 0 },
        ...ended.items.map((item) => toDelete(item.key)),
      ],
    };
  }

  /** Finds the live session of a token; `UNAUTHENTICATED` where there is none. */
  async find(token: string): Promise<StoredDocument<SessionDocument>> {
    const id = this.idOf(token);
    const session = await this.#context.storage.get<SessionDocument>("sessions", id);
    const now = this.#context.fleetTime.now();
    if (!session || this.#hasEnded(session.value, now)) {
      this.#ids.delete(token);
      throw invalidToken();
    }
    this.#remember(token, id);
    if (now - session.value.last_used_at >= touchEveryMs) await this.#touch(session, now);
    return session;
  }

  /** Whether a session has not ended. */
  async isLive(sessionId: string): Promise<boolean> {
    const session = await this.#context.storage.get<SessionDocument>("sessions", sessionId);
    return session !== null && !this.#hasEnded(session.value, this.#context.fleetTime.now());
  }

  /** The writes that end every session of an operator. */
  async endAllOf(operatorId: string): Promise<Write[]> {
    const writes: Write[] = [];
    const query = { index: "by_operator", equals: [operatorId] };
    for await (const { key } of eachDocument(this.#context.storage, "sessions", query))
      writes.push(toDelete(key));
    return writes;
  }

  /** The writes that end one session. */
  end(sessionId: string): Write[] {
    return [toDelete(sessionId)];
  }

  /** The name under which a token's session is kept. */
  idOf(token: string): string {
    return this.#ids.get(token) ?? this.#hash(token);
  }

  #hash(token: string): string {
    return toHex(this.#context.crypto.sha256(toUtf8(token)));
  }

  #remember(token: string, id: string): void {
    this.#ids.set(token, id);
  }

  #hasEnded(session: Readonly<SessionDocument>, now: number): boolean {
    const idleMs = this.#context.options.sessionIdleSeconds * 1000;
    if (session.created_at > now + aheadMs) return true;
    return session.expires_at <= now || session.last_used_at + idleMs <= now;
  }

  async #touch(session: StoredDocument<SessionDocument>, now: number): Promise<void> {
    const { key, revision, value } = session;
    try {
      await this.#context.storage.commit([
        {
          kind: "put",
          collection: "sessions",
          key,
          value: { ...value, last_used_at: now },
          expected: revision,
        },
      ]);
    } catch (error) {
      // Another call touched or ended it, or nothing can be written now: signing in and reading must go on.
      this.#context.logger.debug("A session's last use was not written.", { error });
    }
  }
}

function toDelete(key: string): Write {
  return { kind: "delete", collection: "sessions", key };
}
