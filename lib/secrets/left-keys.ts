/**
 * Master keys that no value may be encrypted with any more: a document for each, which all processes with one storage see. A write of a
 * value expects that there is none for its key, so that none is encrypted with a key that is about to be forgotten, whatever its process
 * has heard of the change.
 */
import type { Storage, Write } from "../storage/storage.ts";

const collection = "secrets_key";
const placeOf = (keyId: string) => ({ collection, key: `left:${keyId}` }) as const;

export class LeftKeys {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Which of some keys are left, each with the revision of what says so. */
  async among(keyIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const stored = await this.#storage.getMany(
      collection,
      keyIds.map((id) => placeOf(id).key),
    );
    return new Map(
      keyIds.flatMap((id, at) => {
        const revision = stored[at]?.revision;
        return revision === undefined ? [] : [[id, revision]];
      }),
    );
  }

  async has(keyId: string): Promise<boolean> {
    return (await this.#storage.get(collection, placeOf(keyId).key)) !== null;
  }

  /** Fails the step that writes it with `REVISION_CONFLICT` where a key is left. */
  expectInUse(keyId: string): Write {
    return { kind: "delete", ...placeOf(keyId), expected: 0 };
  }

  /** @param expected - The revision of what is known of it; absent = whatever it is. */
  leave(keyId: string, expected?: number): Write {
    return { kind: "put", ...placeOf(keyId), value: {}, ...(expected !== undefined && { expected }) };
  }

  /** Has a key be used, or used again. */
  use(keyId: string, expected?: number): Write {
    return { kind: "delete", ...placeOf(keyId), ...(expected !== undefined && { expected }) };
  }
}
