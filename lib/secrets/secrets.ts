import type { z } from "zod";
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { fromBase64, toUtf8 } from "../crypto/encoding.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { asText } from "../secret-format/forms.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { SecretDocument } from "./documents.ts";
import { toRestriction } from "./restriction.ts";
import {
  createSecretInput,
  listSecretsInput,
  secretNameInput,
  updateSecretInput,
  type RotatedKey,
  type Secret,
} from "./schemas.ts";
import type { SecretService } from "./secret-service.ts";
import { keptVersions } from "./secret-store.ts";

/** Most bytes of a value. */
const maxValueBytes = 65_536;

/**
 * Values that modules use and nobody reads back: encrypted where they are kept, sealed to the agent that needs them for each operation,
 * decrypted there alone.
 */
export class Secrets {
  readonly #context: Context;
  readonly #service: SecretService;

  constructor(context: Context, service: SecretService) {
    this.#context = context;
    this.#service = service;
  }

  /** Lists secrets by name. Their values are never told. */
  async list(caller: Caller, input: z.input<typeof listSecretsInput> = {}): Promise<Page<Secret>> {
    await this.#context.authorize(caller, "secrets.list");
    const { limit = 50, cursor } = parseInput(listSecretsInput, input);
    const page = await this.#context.storage.list<SecretDocument>("secrets", {
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor("secrets", {}, cursor)) }),
    });
    return {
      items: await this.#toSecrets(page.items),
      next_cursor: page.next === null ? null : encodeCursor("secrets", {}, page.next),
    };
  }

  /**
   * Reads what is known of a secret: all but its value.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof secretNameInput>): Promise<Secret> {
    await this.#context.authorize(caller, "secrets.get");
    return this.#toSecret(await this.#service.store.read(parseInput(secretNameInput, input).name));
  }

  /**
   * Takes a secret in. No machine gets it before a module that uses it is applied there.
   *
   * @throws {OrchestratorError} `ALREADY_EXISTS`; `VALIDATION_FAILED` for a value of no or more than 65,536 bytes, or a restriction over
   * attributes; `SELECTOR_INVALID`; `SECRETS_KEY_MISSING`.
   */
  async create(caller: Caller, input: z.input<typeof createSecretInput>): Promise<Secret> {
    await this.#context.authorize(caller, "secrets.create");
    const { name, description, restriction, expires_at, ...given } = parseInput(createSecretInput, input);
    const value = toValue(given);
    this.#service.keys.requireOpen();
    const now = this.#context.timestamp();
    const by = toSubject(caller).name;
    return retryOnConflict(async () => {
      const mark = await this.#service.store.mark(name);
      const { value_version, version: version_base = 0 } = mark.before;
      const document: SecretDocument = {
        name,
        ...(description !== undefined && { description }),
        value_version: value_version + 1,
        ...(version_base > 0 && { version_base }),
        is_text: asText(value) !== null,
        ...(restriction && { restriction: toRestriction(restriction) }),
        ...(expires_at !== undefined && { expires_at: new Date(expires_at).toISOString() }),
        created_at: now,
        created_by: by,
        updated_at: now,
        updated_by: by,
      };
      if (await this.#service.store.find(name))
        throw new OrchestratorError("ALREADY_EXISTS", { message: `A secret ${name} exists.` });
      const secret = { key: name, revision: 1, value: document };
      const answer = await this.#toSecret(secret);
      const writes = [
        this.#put(secret, 0),
        ...(await this.#putValue(document, value)),
        this.#service.expiries.plan(document),
        mark.write(),
      ];
      await this.#context.commit(answering(caller, answer), writes, this.#event("secret.created", document));
      return answer;
    });
  }

  /**
   * Changes a secret; what is not given stays. A new value is a new version: machines have it from their next apply on, and until then
   * `secret_before` finds their agents.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `PRECONDITION_FAILED`; else as {@link create}.
   */
  async update(
    caller: Caller,
    input: z.input<typeof updateSecretInput>,
    options?: ChangeOptions,
  ): Promise<Secret> {
    await this.#context.authorize(caller, "secrets.update");
    const { name, value: text, encoding, ...rest } = parseInput(updateSecretInput, input);
    if (text === undefined && encoding !== undefined) throw invalid("encoding", "goes with a value");
    const value = text === undefined ? null : toValue({ value: text, encoding });
    this.#service.keys.requireOpen();
    const changed = Object.keys({ ...(value && { value }), ...rest }).sort();
    return retryOnConflict(async () => {
      // A secret that is made under the name of one that went has its revision, and writes the mark.
      const mark = await this.#service.store.mark(name);
      const stored = await this.#service.store.read(name);
      requireVersion({ revision: ownVersionOf(stored) }, options);
      const document = this.#changed(caller, stored.value, { ...rest, value });
      const secret = { key: name, revision: stored.revision + 1, value: document };
      const answer = await this.#toSecret(secret);
      const writes = [this.#put(secret, stored.revision), mark.write()];
      if (value) {
        writes.push(...(await this.#putValue(document, value)));
        writes.push(...(await this.#service.store.deleteValues(name, document.value_version - keptVersions)));
      }
      if (rest.expires_at !== undefined) writes.push(this.#service.expiries.plan(document));
      const event = {
        ...this.#event("secret.updated", document),
        metadata: { ...versionOf(document), changed },
      };
      await this.#context.commit(answering(caller, answer), writes, event as EventInput);
      return answer;
    });
  }

  /**
   * Removes a secret with all its values. Machines keep what was put there with it.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `IN_USE` with `details.used_by`; `PRECONDITION_FAILED`.
   */
  async remove(
    caller: Caller,
    input: z.input<typeof secretNameInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#context.authorize(caller, "secrets.remove");
    const { name } = parseInput(secretNameInput, input);
    await retryOnConflict(async () => {
      const mark = await this.#service.store.mark(name);
      const stored = await this.#service.store.read(name);
      const { value_version } = stored.value;
      const version = ownVersionOf(stored);
      requireVersion({ revision: version }, options);
      const usedBy = (await this.#context.references.usersOf("secret", [name])).get(name) ?? [];
      if (usedBy.length > 0) {
        throw new OrchestratorError("IN_USE", {
          message: `Secret ${name} is used by ${usedBy.join(", ")}.`,
          details: { used_by: usedBy },
        });
      }
      const writes: Write[] = [
        { kind: "delete", collection: "secrets", key: name, expected: stored.revision },
        // Versions rise for ever: what an agent or a caller has of the one that is gone is never taken for what comes after it.
        mark.write({ value_version, version }),
        ...(await this.#service.store.deleteValues(name, value_version)),
        this.#service.expiries.plan({ name }),
      ];
      await this.#context.commit(answering(caller), writes, {
        type: "secret.removed",
        target: { type: "secret", id: name, name },
        summary: `Secret ${name} was removed`,
      });
    });
  }

  /**
   * Has another key take the place of the one that secrets are encrypted with: makes one where the source of keys can, or takes the newest
   * that it gives, and encrypts every value anew. Called again after a process was killed it goes on; so does the next start.
   *
   * @throws {OrchestratorError} `SECRETS_KEY_MISSING`; `INVALID_TRANSITION` where there is no other key and none can be made here;
   * `STORAGE_CORRUPT` for a value that can't be read: its key is kept then; `UNAVAILABLE` while another process does it.
   */
  async rotateKey(caller: Caller): Promise<RotatedKey> {
    await this.#context.authorize(caller, "secrets.rotateKey");
    return this.#service.keys.rotate(caller);
  }

  #changed(
    caller: Caller,
    before: Readonly<SecretDocument>,
    {
      value,
      description,
      restriction,
      expires_at,
    }: Omit<z.output<typeof updateSecretInput>, "name" | "value" | "encoding"> & { value: Uint8Array | null },
  ): SecretDocument {
    const document: SecretDocument = {
      ...before,
      updated_at: this.#context.timestamp(),
      updated_by: toSubject(caller).name,
    };
    if (value) {
      document.value_version += 1;
      document.is_text = asText(value) !== null;
    }
    if (description === null) delete document.description;
    else if (description !== undefined) document.description = description;
    if (restriction === null) delete document.restriction;
    else if (restriction !== undefined) document.restriction = toRestriction(restriction);
    if (expires_at === null) delete document.expires_at;
    else if (expires_at !== undefined) document.expires_at = new Date(expires_at).toISOString();
    return document;
  }

  #put({ key, value }: StoredDocument<SecretDocument>, expected: number): Write {
    return { kind: "put", collection: "secrets", key, value: toJsonObject(value), expected };
  }

  #putValue({ name, value_version }: SecretDocument, value: Uint8Array): Promise<Write[]> {
    return this.#service.keys.seal({ name, version: value_version }, value);
  }

  #event(type: "secret.created" | "secret.updated", document: SecretDocument): EventInput {
    const { name } = document;
    return {
      type,
      target: { type: "secret", id: name, name },
      summary: `Secret ${name} was ${type === "secret.created" ? "created" : "updated"}`,
      metadata: versionOf(document),
    } as EventInput;
  }

  async #toSecret(stored: StoredDocument<SecretDocument>): Promise<Secret> {
    return (await this.#toSecrets([stored]))[0]!;
  }

  async #toSecrets(stored: readonly StoredDocument<SecretDocument>[]): Promise<Secret[]> {
    const names = stored.map(({ key }) => key);
    const users = await this.#context.references.usersOf("secret", names);
    return stored.map((each) => {
      const { value } = each;
      const { is_text: _isText, version_base: _base, ...shown } = value;
      return {
        ...(shown as Omit<SecretDocument, "is_text" | "version_base">),
        version: ownVersionOf(each),
        used_by: users.get(value.name) ?? [],
      };
    });
  }
}

/** Never that of a secret that had its name before. */
function ownVersionOf({ revision, value }: StoredDocument<SecretDocument>): number {
  return (value.version_base ?? 0) + revision;
}

function versionOf({ value_version }: SecretDocument): { value_version: number } {
  return { value_version };
}

/** The bytes of a value; nothing of them is in an error. */
function toValue({
  value,
  encoding = "utf8",
}: {
  value: string;
  encoding?: "utf8" | "base64" | undefined;
}): Uint8Array {
  const bytes = encoding === "utf8" ? toUtf8(value) : fromBase64(value);
  if (!bytes) throw invalid("value", "is no base64 with padding");
  if (bytes.length < 1 || bytes.length > maxValueBytes)
    throw invalid("value", `has ${bytes.length} bytes; 1 to ${maxValueBytes} can be kept`);
  return bytes;
}

function invalid(field: string, message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [field], message }] });
}
