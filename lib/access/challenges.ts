/**
 * Sign-in challenges. A challenge carries itself: key, nonce and expiry under an HMAC, so that handing one out stores
 * nothing, an unknown key gets one that looks like any other, and any process of a cluster can check it. Only answering
 * one is remembered, until it would have expired.
 */
import type { Context } from "../context.ts";
import { fromHex, toHex, toUtf8 } from "../crypto/encoding.ts";
import { fromBase64Url, toBase64Url } from "../internal/base64url.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { toTimestamp } from "../clock.ts";
import type { CommitOptions, Write } from "../storage/storage.ts";
import type { Challenge } from "./schemas.ts";

interface ChallengeClaims {
  public_key: string;
  nonce: string;
  expires_at: number;
}

/** How many expired nonces are forgotten with each new one: more than one, so that the list always shrinks. */
const forgetAtOnce = 4;

/** How long a nonce is kept past its expiry, so that a wall clock set back a little does not make it good again. */
const keepUsedMs = 600_000;

export class Challenges {
  readonly #context: Context;
  readonly #key: Uint8Array;

  /** @param key - Secret, 32 bytes, the same in every process of one orchestrator. */
  constructor(context: Context, key: Uint8Array) {
    this.#context = context;
    this.#key = key;
  }

  /** Makes a challenge for a public key (hex), whether or not it is known. */
  issue(publicKey: string): Challenge {
    const { crypto, clock, options } = this.#context;
    const claims: ChallengeClaims = {
      public_key: publicKey,
      nonce: toHex(crypto.randomBytes(32)),
      expires_at: clock.now() + options.challengeSeconds * 1000,
    };
    const body = toBase64Url(toUtf8(JSON.stringify(claims)));
    return {
      challenge_id: `${body}.${toBase64Url(this.#mac(body))}`,
      nonce: claims.nonce,
      message: this.#message(claims),
      expires_at: toTimestamp(claims.expires_at),
    };
  }

  /**
   * Uses a challenge up and tells who signed it. A wrong signature costs the challenge, too: nothing is told before it is
   * used up. On a full disk only those who are found get as far.
   *
   * @param find - Looks up who a public key (hex) belongs to.
   * @returns Whom `find` found; null where it found nobody.
   * @throws {OrchestratorError} `CHALLENGE_INVALID`, `SIGNATURE_INVALID`.
   */
  async redeem<Found>(
    challengeId: string,
    signature: Uint8Array | null,
    find: (publicKey: string) => Promise<Found | null>,
  ): Promise<Found | null> {
    const claims = this.#read(challengeId);
    const message = toUtf8(this.#message(claims));
    const valid =
      signature !== null && this.#context.crypto.verify(fromHex(claims.public_key)!, message, signature);
    const found = valid ? await find(claims.public_key) : null;
    await this.#consume(claims, { reserve: found !== null });
    if (!valid) throw new OrchestratorError("SIGNATURE_INVALID");
    return found;
  }

  #read(challengeId: string): ChallengeClaims {
    const [body = "", mac = ""] = challengeId.split(".");
    const given = fromBase64Url(mac);
    if (!given || !this.#context.crypto.equal(given, this.#mac(body)))
      throw new OrchestratorError("CHALLENGE_INVALID");
    const claims = JSON.parse(new TextDecoder().decode(fromBase64Url(body)!)) as ChallengeClaims;
    if (claims.expires_at <= this.#context.clock.now()) throw new OrchestratorError("CHALLENGE_INVALID");
    return claims;
  }

  async #consume(claims: ChallengeClaims, options: CommitOptions): Promise<void> {
    const { storage, clock } = this.#context;
    const expired = await storage.list("used_nonces", {
      index: "by_expiry",
      to: clock.now() - keepUsedMs,
      limit: forgetAtOnce,
    });
    const forget = expired.items.map((item): Write => ({
      kind: "delete",
      collection: "used_nonces",
      key: item.key,
    }));
    const value = { expires_at: claims.expires_at };
    try {
      const use: Write = {
        kind: "put",
        collection: "used_nonces",
        key: claims.nonce,
        value,
        expected: 0,
      };
      await storage.commit([use, ...forget], options);
    } catch (error) {
      if (isOrchestratorError(error, "REVISION_CONFLICT")) throw new OrchestratorError("CHALLENGE_INVALID");
      throw error;
    }
  }

  #mac(body: string): Uint8Array {
    return this.#context.crypto.hmac(this.#key, toUtf8(body));
  }

  /** The text that is signed. Its first line keeps a signature made here from meaning anything elsewhere. */
  #message(claims: ChallengeClaims): string {
    return [
      "fleetwright/1 operator sign-in",
      `service: ${this.#context.options.serviceName}`,
      `orchestrator: ${toHex(this.#context.identity.publicKey)}`,
      `operator: ${claims.public_key}`,
      `nonce: ${claims.nonce}`,
      `expires: ${toTimestamp(claims.expires_at)}`,
    ].join("\n");
  }
}
