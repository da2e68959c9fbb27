/** Secrets as they are stored: what is known of each, and its values. */
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { toJsonObject } from "../json.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import {
  type RemovedSecretDocument,
  type SecretDocument,
  type SecretValueDocument,
  valueKey,
} from "./documents.ts";
import type { KeyRing } from "./key-ring.ts";

/** How many values of a secret are kept, the newest among them: machines that have an old one are checked against it. */
export const keptVersions = 5;

/** What is known of a name whatever becomes of its secret. */
export interface Mark {
  before: Readonly<RemovedSecretDocument>;
  /** Writes it anew, with the last versions of a secret that is removed. */
  write: (last?: Partial<Omit<RemovedSecretDocument, "name">>) => Write;
}

export class SecretStore {
  readonly #context: Context;
  readonly #keys: KeyRing;

  constructor(context: Context, keys: KeyRing) {
    this.#context = context;
    this.#keys = keys;
  }

  find(name: string): Promise<StoredDocument<SecretDocument> | null> {
    return this.#context.storage.get<SecretDocument>("secrets", name);
  }

  /**
   * Reads what is known of a name whatever becomes of its secret, and gives what writes it anew: it conflicts where somebody else has since.
   * To be called before the secret is looked at.
   */
  async mark(name: string): Promise<Mark> {
    const collection = "removed_secrets";
    const stored = await this.#context.storage.get<RemovedSecretDocument>(collection, name);
    const before: Readonly<RemovedSecretDocument> = stored?.value ?? { name, value_version: 0 };
    const write: Mark["write"] = (last = {}) => {
      const value = toJsonObject({ ...before, ...last } satisfies RemovedSecretDocument);
      return { kind: "put", collection, key: name, value, expected: stored?.revision ?? 0 };
    };
    return { before, write };
  }

  /** @throws {OrchestratorError} `NOT_FOUND`. */
  async read(name: string): Promise<StoredDocument<SecretDocument>> {
    const stored = await this.find(name);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no secret ${name}.` });
    return stored;
  }

  /** Decrypts a value; null where it is not kept (any more). */
  async value(name: string, version: number): Promise<Uint8Array | null> {
    const key = valueKey(name, version);
    const row = await this.#context.storage.get<SecretValueDocument>("secret_values", key);
    // By what it is asked for: a row in the place of another does not open.
    return row && this.#keys.open({ ...row.value, name, version });
  }

  /** What deletes the values of a secret up to a version. */
  async deleteValues(name: string, through: number): Promise<Write[]> {
    const writes: Write[] = [];
    const query = { index: "by_name", equals: [name], to: through + 1 };
    for await (const { key } of eachDocument(this.#context.storage, "secret_values", query))
      writes.push({ kind: "delete", collection: "secret_values", key });
    return writes;
  }
}
