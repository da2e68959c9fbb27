/**
 * Sign-in challenges. A challenge carries itself: key, nonce and expiry under an HMAC, so that handing one out stores
 * nothing, an unknown key gets one that looks like any other, and any process of a cluster can check it. Only answering
 * one is remembered, until it would have expired. It expires by the fleet time: no wall clock makes one good again.
 *
 * The text that is signed names what it is for: purpose, service, the origin that the caller means to talk to, and the
 * orchestrator, which proves its key by signing the text first. A text that another server passed on fits none of that.
 */
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { concatBytes, fromHex, toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { fromBase64Url, toBase64Url } from "../internal/base64url.ts";
import type { CommitOptions, Write } from "../storage/storage.ts";
import type { Challenge } from "./schemas.ts";

/** Who wants to sign in, and what of the text is theirs to say. */
export interface ChallengeRequest {
  /** Hex. */
  public_key: string;
  /** Origin that they mean to talk to; absent where they did not say. */
  audience?: string | undefined;
  /** Hex; absent where they sent none. */
  client_nonce?: string | undefined;
}

interface ChallengeClaims extends ChallengeRequest {
  nonce: string;
  /** When it expires, by the fleet time. */
  until: number;
  /** The same by the wall clock as it was then: what the signed text says. */
  expires_at: number;
}

/** Stands in the text where the caller did not say whom they mean to talk to. */
const anyAudience = "any";

/** How many expired nonces are forgotten with each new one: more than one, so that the list always shrinks. */
const forgetAtOnce = 4;

/** How long a nonce is kept past its expiry: longer than the minute of fleet time that a start after a kill may repeat. */
const keepUsedMs = 600_000;

/** Before a text that the orchestrator signs: such a signature means nothing to agents and in the audit log. */
const proofLabel = "fleetwright/1 sign-in challenge\0";

export class Challenges {
  readonly #context: Context;
  readonly #key: Uint8Array;

  /** @param key - Secret, 32 bytes, the same in every process of one orchestrator. */
  constructor(context: Context, key: Uint8Array) {
    this.#context = context;
    this.#key = key;
  }

  /** Makes a challenge, whether or not the key is known. */
  issue({ public_key, audience, client_nonce }: ChallengeRequest): Challenge {
    const { crypto, fleetTime, options, identity } = this.#context;
    const until = fleetTime.now() + options.challengeSeconds * 1000;
    const claims: ChallengeClaims = {
      public_key,
      audience,
      client_nonce,
      nonce: toHex(crypto.randomBytes(32)),
      until,
      expires_at: fleetTime.toWall(until),
    };
    const body = toBase64Url(toUtf8(JSON.stringify(claims)));
    const message = this.#message(claims);
    return {
      challenge_id: `${body}.${toBase64Url(this.#mac(body))}`,
      nonce: claims.nonce,
      message,
      expires_at: toTimestamp(claims.expires_at),
      service: options.serviceName,
      audience: audience ?? anyAudience,
      orchestrator_key: toHex(identity.publicKey),
      proof: toHex(identity.sign(concatBytes(toUtf8(proofLabel), toUtf8(message)))),
    };
  }

  /** The key, hex, that a challenge is for; null where it is none of ours, or over. */
  keyOf(challengeId: string): string | null {
    try {
      return this.#read(challengeId).public_key;
    } catch {
      return null;
    }
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
    // Of an earlier version, which knew the wall clock only: it is over in any case.
    if (!(claims.until > this.#context.fleetTime.now())) throw new OrchestratorError("CHALLENGE_INVALID");
    return claims;
  }

  async #consume(claims: ChallengeClaims, options: CommitOptions): Promise<void> {
    const { storage, fleetTime } = this.#context;
    const expired = await storage.list("used_nonces", {
      index: "by_expiry",
      to: fleetTime.now() - keepUsedMs,
      limit: forgetAtOnce,
    });
    const forget = expired.items.map((item): Write => ({
      kind: "delete",
      collection: "used_nonces",
      key: item.key,
    }));
    const value = { expires_at: claims.until };
    try {
      const use: Write = {
        kind: "put",
        collection: "used_nonces",
        key: claims.nonce,
        value,
        expected: 0,
      };
      // With the time: on a full disk it is written nowhere else, and a start that went back before it would have forgotten the use.
      await storage.commit([use, ...forget, fleetTime.toWrite()], options);
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
      `audience: ${claims.audience ?? anyAudience}`,
      `orchestrator: ${toHex(this.#context.identity.publicKey)}`,
      `operator: ${claims.public_key}`,
      `client nonce: ${claims.client_nonce ?? "none"}`,
      `nonce: ${claims.nonce}`,
      `expires: ${toTimestamp(claims.expires_at)}`,
    ].join("\n");
  }
}
