/**
 * How one master key takes the place of another:
 *
 *   new key beside the old one (`renew`) ─▶ the old one left ─▶ every value encrypted with the new one, one by one ─▶ the canary, too
 *   ─▶ old key gone (`retire`)
 *
 * The canary is written last: while it is of the old key, the change is not over, and the next start goes on with it. So it does wherever
 * the process was killed. Each value is written only where it is still what was read.
 *
 * Other processes may share storage and keys. One of them changes the key at a time, under a lease; one that was held up for longer than
 * that gives up, and writes nothing of a key that was left meanwhile.
 */
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { inputKeyOwner, type SecretsKeyDocument, type SecretValueDocument } from "./documents.ts";
import type { LeftKeys } from "./left-keys.ts";
import type { RotatedKey } from "./schemas.ts";
import { readKeys, type SecretsKeySource } from "./secrets-key.ts";
import type { Vault } from "./vault.ts";

/** Where it is kept what tells the right key. */
export const canaryPlace = { collection: "secrets_key", key: "canary" } as const;
/** The turn to make or change keys, and for how long a process that was killed keeps it from others, milliseconds. */
export const leaseName = "secrets_key";
export const leaseMs = 30_000;
/** Values that are encrypted anew between two turns of the event loop. */
const atOnce = 20;

/** Fails where another process has the turn by now. */
type HoldTurn = () => Promise<void>;

/** The keys, and what is encrypted with them. */
interface Ring {
  vault: Vault;
  leftKeys: LeftKeys;
  open(row: Readonly<SecretValueDocument>): Promise<Uint8Array>;
  seal(of: { name: string; version: number }, value: Uint8Array, expected: number): Promise<Write[]>;
  /** Some of the values that are encrypted with another key than the newest. */
  valuesLeft(limit: number): Promise<StoredDocument<SecretValueDocument>[]>;
  canary(): Promise<StoredDocument<SecretsKeyDocument> | null>;
}

export class KeyRotation {
  readonly #context: Context;
  readonly #ring: Ring;

  constructor(context: Context, ring: Ring) {
    this.#context = context;
    this.#ring = ring;
  }

  /**
   * Has another key take the place of the one that is used, or goes on with that.
   *
   * @param mayRenew - Whether a key may be made.
   * @throws {OrchestratorError} `INVALID_TRANSITION` where there is no other key and none can be made here; `UNAVAILABLE` while another
   * process does it.
   */
  async run(caller: Caller, mayRenew: boolean): Promise<RotatedKey> {
    const lease = await this.#context.storage.lease(leaseName, leaseMs);
    if (!lease) throw beingChanged();
    const hold = async (): Promise<void> => {
      if (!(await lease.renew())) throw beingChanged();
    };
    try {
      const source = await this.#takeNewest(mayRenew, hold);
      const done = mayRenew ? null : await this.#changedByOthers();
      if (done !== null) return { key_id: done, rewrapped: 0 };
      let rewrapped = 0;
      let left: StoredDocument<SecretValueDocument>[];
      do {
        await hold();
        await this.#leaveOthers();
        left = await this.#ring.valuesLeft(atOnce);
        rewrapped += await this.#rewrap(left, hold);
      } while (left.length > 0);
      const key_id = this.#ring.vault.newest!;
      await hold();
      await this.#conclude(caller, { key_id, rewrapped });
      // Else whoever has the turn forgets it, or the next start.
      if (await lease.renew()) await source?.retire?.(this.#ring.vault.keyOf(key_id));
      return { key_id, rewrapped };
    } finally {
      await lease.release();
    }
  }

  /** Reads the keys anew, and has one made where the newest is the one that is used already. */
  async #takeNewest(mayRenew: boolean, hold: HoldTurn): Promise<SecretsKeySource | null> {
    const { secretsKey } = this.#context.options;
    const source = secretsKey === null || secretsKey instanceof Uint8Array ? null : secretsKey;
    const canary = await this.#ring.canary();
    this.#ring.vault.take(await readKeys(secretsKey!));
    if (!mayRenew || this.#ring.vault.newest !== canary?.value.key_id) return source;
    if (!source?.renew)
      throw new OrchestratorError("INVALID_TRANSITION", {
        message:
          "The key comes from outside, and there is no newer one: give the new key before the old one.",
      });
    await hold();
    await source.renew();
    this.#ring.vault.take(await readKeys(source));
    return source;
  }

  /** The key that another process has changed to, from the newest that this one was given, while its turn was waited for; else null. */
  async #changedByOthers(): Promise<string | null> {
    const { newest } = this.#ring.vault;
    const inUse = (await this.#ring.canary())?.value.key_id;
    if (inUse === undefined || inUse === newest) return null;
    return (await this.#ring.leftKeys.has(newest!)) ? inUse : null;
  }

  /** Has no value be encrypted any more with another key than the newest. */
  async #leaveOthers(): Promise<void> {
    const { newest, ids } = this.#ring.vault;
    const left = await this.#ring.leftKeys.among(ids);
    const others = ids.filter((id) => id !== newest && !left.has(id));
    const writes = others.map((id) => this.#ring.leftKeys.leave(id, 0));
    const newestLeft = left.get(newest!);
    if (newestLeft !== undefined) writes.push(this.#ring.leftKeys.use(newest!, newestLeft));
    if (writes.length === 0) return;
    await this.#context.storage.commit(writes).catch((error: unknown) => {
      throw isOrchestratorError(error, "REVISION_CONFLICT") ? beingChanged() : error;
    });
  }

  async #conclude(caller: Caller, rotated: RotatedKey): Promise<void> {
    await retryOnConflict(async () => {
      const { key_id } = rotated;
      const canary = await this.#ring.canary();
      if (canary?.value.key_id === key_id) return;
      // Another process had the turn, and changed from this one.
      if (await this.#ring.leftKeys.has(key_id)) throw beingChanged();
      const value = toJsonObject(this.#ring.vault.canary(key_id));
      const put: Write = { kind: "put", ...canaryPlace, value, expected: canary?.revision ?? 0 };
      await this.#context.commit(caller, [put, this.#ring.leftKeys.expectInUse(key_id)], {
        type: "secret.keyRotated",
        summary: "Secrets are encrypted with another key",
        metadata: rotated,
      });
    });
  }

  /** Encrypts values anew, each where it is still what was read; who else writes one does it with the newest key. */
  async #rewrap(rows: readonly StoredDocument<SecretValueDocument>[], hold: HoldTurn): Promise<number> {
    let count = 0;
    for (const { revision, value } of rows) {
      await hold();
      const plain = await this.#ring.open(value);
      try {
        await this.#context.storage.commit(await this.#ring.seal(value, plain, revision));
        if (value.name !== inputKeyOwner) count += 1;
      } catch (error) {
        if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
      }
    }
    return count;
  }
}

/** Another process has its turn. */
export function beingChanged(): OrchestratorError {
  const message = "The key of secrets is being changed. Try again in a few seconds.";
  return new OrchestratorError("UNAVAILABLE", { message });
}
