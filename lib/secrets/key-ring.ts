/**
 * The master keys, and how one takes the place of another:
 *
 *   new key beside the old one (`renew`) ─▶ the old one left ─▶ every value encrypted with the new one, one by one ─▶ the canary, too
 *   ─▶ old key gone (`retire`)
 *
 * The canary is written last: while it is of the old key, the change is not over, and the next start goes on with it. So it does wherever
 * the process was killed. Each value is written only where it is still what was read.
 *
 * Other processes may share storage and keys. One of them changes the key at a time, under a lease. That a key is left is a document
 * which each write of a value expects not to be there: so none is encrypted with a key that is about to be forgotten, whatever its process
 * has heard of the change.
 */
import { systemCaller, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { eachPage } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { inputKeyOwner, valueKey } from "./documents.ts";
import type { SecretsKeyDocument, SecretValueDocument } from "./documents.ts";
import type { RotatedKey } from "./schemas.ts";
import { readKeys, type SecretsKeySource } from "./secrets-key.ts";
import { Vault } from "./vault.ts";

const collection = "secrets_key";
const canaryPlace = { collection, key: "canary" } as const;
/** Where it is written that no value may be encrypted with a key any more. */
const leftPlace = (keyId: string) => ({ collection, key: `left:${keyId}` }) as const;
/** For how long a process that was killed keeps others from changing the key, and how often a start looks for its turn, milliseconds. */
const leaseMs = 30_000;
const lookAgainMs = 500;
/** Values that are encrypted anew between two turns of the event loop. */
const atOnce = 20;

export class KeyRing {
  readonly vault: Vault;
  readonly #context: Context;
  #rotating: Promise<RotatedKey> | null = null;

  constructor(context: Context) {
    this.#context = context;
    this.vault = new Vault(context.crypto);
  }

  /** Whether secrets can be read and written. */
  get isOpen(): boolean {
    return this.vault.newest !== null;
  }

  /** @throws {OrchestratorError} `SECRETS_KEY_MISSING`. */
  requireOpen(): void {
    if (!this.isOpen) throw new OrchestratorError("SECRETS_KEY_MISSING");
  }

  /**
   * Reads the keys and holds them against what is stored. A key is made, or another one taken, only where nothing is encrypted.
   *
   * @returns Whether a change of the key is to be gone on with.
   * @throws {OrchestratorError} `SECRETS_KEY_WRONG` where something is encrypted with a key that is not there; `STORAGE_CORRUPT` where
   * there are values, and nothing that tells their key.
   */
  async start(): Promise<boolean> {
    const { storage } = this.#context;
    const canary = await this.#canary();
    // Made by us and of use for a day: that alone is no reason to refuse another key.
    const inputKey = await storage.get("secret_values", valueKey(inputKeyOwner, 1));
    const isUsed = (await storage.count("secret_values")) > (inputKey ? 1 : 0);
    const { secretsKey } = this.#context.options;
    if (secretsKey === null) {
      if (isUsed) this.#context.logger.warn("There are secrets and no key for them: nobody can use them.");
      return false;
    }
    if (isUsed && !canary)
      throw new OrchestratorError("STORAGE_CORRUPT", {
        message: "There are encrypted secrets, and what tells whether a key is theirs is gone.",
      });
    let keys = await readKeys(secretsKey);
    if (keys.length === 0 && !isUsed && !(secretsKey instanceof Uint8Array) && secretsKey.renew)
      keys = await this.#makeFirst(secretsKey);
    if (keys.length === 0 && !isUsed) throw new OrchestratorError("SECRETS_KEY_MISSING");
    this.vault.take(keys);
    if (canary && this.vault.opensCanary(canary.value)) {
      // All is encrypted with the newest, and the process ended before the others were forgotten.
      const isUnretired = keys.length > 1 && !(secretsKey instanceof Uint8Array) && secretsKey.retire;
      if (isUnretired || this.vault.newest !== canary.value.key_id) return true;
      return (await this.#left(1)).length > 0;
    }
    if (isUsed) throw wrongKey(keys.length);
    // Nothing is encrypted, so any key will do: one that was never needed is not missed after a restore.
    const value = toJsonObject(this.vault.canary());
    const writes: Write[] = [{ kind: "put", ...canaryPlace, value, expected: canary?.revision ?? 0 }];
    writes.push({ kind: "delete", ...leftPlace(this.vault.newest!) });
    if (canary) writes.push({ kind: "put", ...leftPlace(canary.value.key_id), value: {} });
    if (inputKey) {
      const { key, revision } = inputKey;
      writes.push({ kind: "delete", collection: "secret_values", key, expected: revision });
    }
    await storage.commit(writes);
    return false;
  }

  /** Decrypts a value; a key that another process made is asked for. */
  async open(row: Readonly<SecretValueDocument>): Promise<Uint8Array> {
    this.requireOpen();
    if (!this.vault.has(row.key_id)) this.vault.take(await readKeys(this.#context.options.secretsKey!));
    return this.vault.open(row.name, row.version, row);
  }

  /**
   * What writes a value, encrypted with the newest key; it conflicts where that key is left by then.
   *
   * @param expected - The revision of what stands there.
   * @throws {OrchestratorError} `SECRETS_KEY_MISSING`.
   */
  async seal(of: { name: string; version: number }, value: Uint8Array, expected = 0): Promise<Write[]> {
    this.requireOpen();
    if (await this.#isLeft()) {
      this.vault.take(await readKeys(this.#context.options.secretsKey!));
      if (await this.#isLeft())
        throw new OrchestratorError("SECRETS_KEY_MISSING", {
          message:
            "Another process has changed the key of secrets, and the new one was not given to this process.",
        });
    }
    const sealed = this.vault.seal(of.name, of.version, value);
    const key = valueKey(of.name, of.version);
    return [
      { kind: "put", collection: "secret_values", key, value: toJsonObject(sealed), expected },
      { kind: "delete", ...leftPlace(sealed.key_id), expected: 0 },
    ];
  }

  /**
   * Has another key take the place of the one that is used, or goes on with that.
   *
   * @throws {OrchestratorError} `SECRETS_KEY_MISSING`; `INVALID_TRANSITION` where there is no other key and none can be made here;
   * `UNAVAILABLE` while another process does it.
   */
  async rotate(caller: Caller): Promise<RotatedKey> {
    this.requireOpen();
    this.#rotating ??= this.#rotate(caller, { mayRenew: true }).finally(() => (this.#rotating = null));
    return this.#rotating;
  }

  /**
   * Goes on with a change that was begun before.
   *
   * @throws {OrchestratorError} `UNAVAILABLE` while another process does it.
   */
  async resume(): Promise<void> {
    this.#rotating ??= this.#rotate(systemCaller, { mayRenew: false }).finally(() => (this.#rotating = null));
    await this.#rotating;
  }

  async #rotate(caller: Caller, { mayRenew }: { mayRenew: boolean }): Promise<RotatedKey> {
    const lease = await this.#context.storage.lease(collection, leaseMs);
    if (!lease) throw beingChanged();
    try {
      const source = await this.#takeNewest(mayRenew);
      let rewrapped = 0;
      let left: StoredDocument<SecretValueDocument>[];
      do {
        if (!(await lease.renew())) throw beingChanged();
        await this.#leaveOthers();
        left = await this.#left(atOnce);
        rewrapped += await this.#rewrap(left);
      } while (left.length > 0);
      const key_id = this.vault.newest!;
      await this.#conclude(caller, { key_id, rewrapped });
      await source?.retire?.(this.vault.keyOf(key_id));
      return { key_id, rewrapped };
    } finally {
      await lease.release();
    }
  }

  /** Reads the keys anew, and has one made where the newest is the one that is used already. */
  async #takeNewest(mayRenew: boolean): Promise<SecretsKeySource | null> {
    const { secretsKey } = this.#context.options;
    const source = secretsKey === null || secretsKey instanceof Uint8Array ? null : secretsKey;
    const canary = await this.#canary();
    this.vault.take(await readKeys(secretsKey!));
    if (!mayRenew || this.vault.newest !== canary?.value.key_id) return source;
    if (!source?.renew)
      throw new OrchestratorError("INVALID_TRANSITION", {
        message:
          "The key comes from outside, and there is no newer one: give the new key before the old one.",
      });
    await source.renew();
    this.vault.take(await readKeys(source));
    return source;
  }

  /** Of processes that start at once, one makes the key, and the others read it. */
  async #makeFirst(source: SecretsKeySource): Promise<readonly Uint8Array[]> {
    const { storage, clock } = this.#context;
    let lease = await storage.lease(collection, leaseMs);
    for (; !lease; lease = await storage.lease(collection, leaseMs))
      await new Promise<void>((resolve) => void clock.setTimer(lookAgainMs, resolve));
    try {
      const made = await readKeys(source);
      if (made.length > 0) return made;
      await source.renew?.();
      return await readKeys(source);
    } finally {
      await lease.release();
    }
  }

  /** Has no value be encrypted any more with another key than the newest. */
  async #leaveOthers(): Promise<void> {
    const { storage } = this.#context;
    const newest = this.vault.newest!;
    const others = this.vault.ids.filter((id) => id !== newest);
    const places = [newest, ...others].map((id) => leftPlace(id));
    const [newestLeft, ...othersLeft] = await storage.getMany(
      collection,
      places.map(({ key }) => key),
    );
    const writes: Write[] = [];
    if (newestLeft) writes.push({ kind: "delete", ...leftPlace(newest), expected: newestLeft.revision });
    for (const [index, id] of others.entries())
      if (!othersLeft[index]) writes.push({ kind: "put", ...leftPlace(id), value: {}, expected: 0 });
    if (writes.length > 0) await storage.commit(writes);
  }

  async #isLeft(): Promise<boolean> {
    const { key } = leftPlace(this.vault.newest!);
    return (await this.#context.storage.get(collection, key)) !== null;
  }

  async #conclude(caller: Caller, rotated: RotatedKey): Promise<void> {
    await retryOnConflict(async () => {
      const canary = await this.#canary();
      if (canary?.value.key_id === rotated.key_id) return;
      const value = toJsonObject(this.vault.canary());
      await this.#context.commit(
        caller,
        [{ kind: "put", ...canaryPlace, value, expected: canary?.revision ?? 0 }],
        {
          type: "secret.keyRotated",
          summary: "Secrets are encrypted with another key",
          metadata: rotated,
        },
      );
    });
  }

  /** Encrypts values anew, each where it is still what was read; who else writes one does it with the newest key. */
  async #rewrap(rows: readonly StoredDocument<SecretValueDocument>[]): Promise<number> {
    let count = 0;
    for (const { revision, value } of rows) {
      const plain = await this.open(value);
      try {
        await this.#context.storage.commit(await this.seal(value, plain, revision));
        if (value.name !== inputKeyOwner) count += 1;
      } catch (error) {
        if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
      }
    }
    return count;
  }

  /** Some of the values that are encrypted with another key than the newest. */
  async #left(limit: number): Promise<StoredDocument<SecretValueDocument>[]> {
    const newest = this.vault.newest!;
    const { storage } = this.#context;
    for (const range of [{ to: newest }, { from: `${newest}\u0000` }]) {
      const query = { index: "by_key", limit, ...range };
      for await (const page of eachPage<SecretValueDocument>(storage, "secret_values", query))
        if (page.length > 0) return page.slice(0, limit);
    }
    return [];
  }

  #canary(): Promise<StoredDocument<SecretsKeyDocument> | null> {
    return this.#context.storage.get<SecretsKeyDocument>(canaryPlace.collection, canaryPlace.key);
  }
}

function beingChanged(): OrchestratorError {
  const message = "Another process is changing the key of secrets. Try again in a few seconds.";
  return new OrchestratorError("UNAVAILABLE", { message });
}

function wrongKey(count: number): OrchestratorError {
  const message =
    count === 0
      ? "Secrets are encrypted, and their key is not there. Put it back: no other is made over what is encrypted."
      : "Secrets are encrypted with another key than the one that was given. Give that one.";
  return new OrchestratorError("SECRETS_KEY_WRONG", { message });
}
