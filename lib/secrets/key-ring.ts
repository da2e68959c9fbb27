/** The master keys: which there are, which one encrypts, and whether it is the right one for what is stored. */
import { systemCaller, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { eachPage } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { inputKeyOwner, valueKey } from "./documents.ts";
import type { SecretsKeyDocument, SecretValueDocument } from "./documents.ts";
import { beingChanged, canaryPlace, KeyRotation, leaseName, leaseMs } from "./key-rotation.ts";
import { LeftKeys } from "./left-keys.ts";
import type { RotatedKey } from "./schemas.ts";
import { readKeys, type SecretsKeySource } from "./secrets-key.ts";
import { Vault } from "./vault.ts";

/** How often a start looks for its turn to make the first key, milliseconds. */
const lookAgainMs = 500;

export class KeyRing {
  readonly vault: Vault;
  readonly #context: Context;
  readonly leftKeys: LeftKeys;
  readonly #rotation: KeyRotation;
  /** What values are encrypted with where the newest key is left; null = with the newest. */
  #chosen: string | null = null;
  #rotating: Promise<RotatedKey> | null = null;

  constructor(context: Context) {
    this.#context = context;
    this.vault = new Vault(context.crypto);
    this.leftKeys = new LeftKeys(context.storage);
    this.#rotation = new KeyRotation(context, this);
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
  start(): Promise<boolean> {
    return retryOnConflict(() => this.#start());
  }

  async #start(): Promise<boolean> {
    const { storage } = this.#context;
    const canary = await this.canary();
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
      const newest = this.vault.newest!;
      const isLeft = await this.leftKeys.has(newest);
      // Another process has changed from the newest of those that this one was given: that is not to be undone.
      if (newest !== canary.value.key_id) return !isLeft;
      // All is encrypted with the newest, and the process ended before the others were forgotten.
      const isUnretired = keys.length > 1 && !(secretsKey instanceof Uint8Array) && secretsKey.retire;
      // Left and the right one, it was to be changed by a process that was killed, and is to stay.
      return Boolean(isUnretired) || isLeft || (await this.valuesLeft(1)).length > 0;
    }
    if (isUsed) throw wrongKey(keys.length);
    // Nothing is encrypted, so any key will do: one that was never needed is not missed after a restore.
    const newest = this.vault.newest!;
    const value = toJsonObject(this.vault.canary(newest));
    const writes: Write[] = [{ kind: "put", ...canaryPlace, value, expected: canary?.revision ?? 0 }];
    if (canary) writes.push(this.leftKeys.leave(canary.value.key_id));
    writes.push(this.leftKeys.use(newest));
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
   * What writes a value, encrypted with the key that is used; it conflicts where that is left by then.
   *
   * @param expected - The revision of what stands there.
   * @throws {OrchestratorError} `SECRETS_KEY_MISSING`.
   */
  async seal(of: { name: string; version: number }, value: Uint8Array, expected = 0): Promise<Write[]> {
    this.requireOpen();
    const sealed = this.vault.seal(of, value, await this.#usable());
    const key = valueKey(of.name, of.version);
    return [
      { kind: "put", collection: "secret_values", key, value: toJsonObject(sealed), expected },
      this.leftKeys.expectInUse(sealed.key_id),
    ];
  }

  /** The newest key, or where that is left the first that is given and is not. */
  async #usable(): Promise<string> {
    const known = this.#chosen ?? this.vault.newest!;
    if (!(await this.leftKeys.has(known))) return known;
    const given = await readKeys(this.#context.options.secretsKey!);
    this.vault.take(given);
    const ids = given.map((key) => this.vault.idOf(key));
    const left = await this.leftKeys.among(ids);
    this.#chosen = ids.find((id) => !left.has(id)) ?? null;
    if (this.#chosen !== null) return this.#chosen;
    throw new OrchestratorError("SECRETS_KEY_MISSING", {
      message:
        "Another process has changed the key of secrets, and the new one was not given to this process.",
    });
  }

  /**
   * Has another key take the place of the one that is used, or goes on with that.
   *
   * @throws {OrchestratorError} `SECRETS_KEY_MISSING`; `INVALID_TRANSITION` where there is no other key and none can be made here;
   * `UNAVAILABLE` while another process does it.
   */
  async rotate(caller: Caller): Promise<RotatedKey> {
    this.requireOpen();
    this.#rotating ??= this.#rotate(caller, true).finally(() => (this.#rotating = null));
    return this.#rotating;
  }

  /**
   * Goes on with a change that was begun before.
   *
   * @throws {OrchestratorError} `UNAVAILABLE` while another process does it.
   */
  async resume(): Promise<void> {
    this.#rotating ??= this.#rotate(systemCaller, false).finally(() => (this.#rotating = null));
    await this.#rotating;
  }

  #rotate(caller: Caller, mayRenew: boolean): Promise<RotatedKey> {
    this.#chosen = null;
    return this.#rotation.run(caller, mayRenew);
  }

  /** Of processes that start at once, one makes the key, and the others read it. */
  async #makeFirst(source: SecretsKeySource): Promise<readonly Uint8Array[]> {
    const { storage, clock } = this.#context;
    const until = clock.monotonic() + 2 * leaseMs;
    let lease = await storage.lease(leaseName, leaseMs);
    for (; !lease; lease = await storage.lease(leaseName, leaseMs)) {
      if (clock.monotonic() > until) throw beingChanged();
      await new Promise<void>((resolve) => void clock.setTimer(lookAgainMs, resolve));
    }
    try {
      const made = await readKeys(source);
      if (made.length > 0) return made;
      await source.renew?.();
      return await readKeys(source);
    } finally {
      await lease.release();
    }
  }

  /** Some of the values that are encrypted with another key than the newest. */
  async valuesLeft(limit: number): Promise<StoredDocument<SecretValueDocument>[]> {
    const newest = this.vault.newest!;
    const { storage } = this.#context;
    for (const range of [{ to: newest }, { from: `${newest}\u0000` }]) {
      const query = { index: "by_key", limit, ...range };
      for await (const page of eachPage<SecretValueDocument>(storage, "secret_values", query))
        if (page.length > 0) return page.slice(0, limit);
    }
    return [];
  }

  /** What tells the right key; null where none was ever used. */
  canary(): Promise<StoredDocument<SecretsKeyDocument> | null> {
    return this.#context.storage.get<SecretsKeyDocument>(canaryPlace.collection, canaryPlace.key);
  }
}

function wrongKey(count: number): OrchestratorError {
  const message =
    count === 0
      ? "Secrets are encrypted, and their key is not there. Put it back: no other is made over what is encrypted."
      : "Secrets are encrypted with another key than the one that was given. Give that one.";
  return new OrchestratorError("SECRETS_KEY_WRONG", { message });
}
