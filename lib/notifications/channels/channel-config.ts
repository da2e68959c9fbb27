/**
 * What channels are configured with. A secret field is encrypted as secrets are, or it is `secret:NAME` and read for each message; it is
 * not read back.
 */
import { toUtf8 } from "../../crypto/encoding.ts";
import { OrchestratorError } from "../../errors.ts";
import { type Json, type JsonObject } from "../../json.ts";
import { asText } from "../../secret-format/forms.ts";
import type { SecretService } from "../../secrets/secret-service.ts";
import type { Write } from "../../storage/storage.ts";
import type { ChannelDocument } from "../documents.ts";
import type { ChannelType } from "../senders/sender.ts";
import {
  invalidConfig,
  isReference,
  mask,
  requireConfigSize,
  secretNamed,
  toConfigIssues,
} from "./config-rules.ts";

/** What of a channel says what it is configured with. */
export type Configured = Pick<ChannelDocument, "id" | "type" | "config" | "sealed_fields" | "sealed_version">;

/** A config that was checked, and what is written with it. */
export interface Prepared {
  kept: Pick<ChannelDocument, "config" | "sealed_fields" | "sealed_version">;
  writes: Write[];
}

export class ChannelConfigs {
  readonly #secrets: SecretService;
  readonly #types: Readonly<Record<string, ChannelType>>;

  constructor({ secrets, types }: { secrets: SecretService; types: Readonly<Record<string, ChannelType>> }) {
    this.#secrets = secrets;
    this.#types = types;
  }

  /** A type of channels. Throws `VALIDATION_FAILED` where there is no such one. */
  typeOf(name: string): ChannelType {
    const type = Object.hasOwn(this.#types, name) ? this.#types[name] : undefined;
    if (type) return type;
    const known = Object.keys(this.#types).join(", ");
    throw invalidConfig([{ path: ["type"], message: `must be one of ${known}` }]);
  }

  /**
   * Checks a config and makes it ready to be kept. What is to be written conflicts where a secret that it names is removed meanwhile.
   *
   * @param before - The channel as it was; null for a new one.
   * @throws {OrchestratorError} `VALIDATION_FAILED`; `SECRET_UNAVAILABLE` where a secret that is named can't be read;
   * `SECRETS_KEY_MISSING`; `STORAGE_CORRUPT`.
   */
  async prepare(
    { id, type: name }: Pick<ChannelDocument, "id" | "type">,
    given: JsonObject,
    before: Configured | null,
  ): Promise<Prepared> {
    const type = this.typeOf(name);
    requireConfigSize(given);
    const sealedBefore = before ? await this.#sealed(before) : {};
    const whole = unmasked(type, given, { ...before?.config, ...sealedBefore });
    const held = await Promise.all(
      [...new Set(namesIn(type, whole))].map((secret) => this.#secrets.hold(secret)),
    );
    await this.#inFull(type, whole);
    const isSealed = (field: string): boolean =>
      type.secretFields.includes(field) && !isReference(whole[field]);
    const fields = Object.keys(whole);
    const sealed = pick(whole, fields.filter(isSealed));
    const config = pick(
      whole,
      fields.filter((field) => !isSealed(field)),
    );
    const { kept, writes } = await this.#toPrepared({ id, before, config, sealed });
    return { kept, writes: [...writes, ...held] };
  }

  /** What takes a channel's encrypted value away. */
  forget({ id, sealed_version }: Configured): Write[] {
    return sealed_version === 0 ? [] : [this.#secrets.forget(ownerOf(id), sealed_version)];
  }

  /**
   * The config in full, for one message. It must get into no log, error, event or answer.
   *
   * @throws {OrchestratorError} As {@link prepare}: what was right once may not be any more.
   */
  async read(channel: Configured): Promise<JsonObject> {
    const type = this.typeOf(channel.type);
    const whole = { ...channel.config, ...(await this.#sealed(channel)) };
    return this.#inFull(type, whole);
  }

  /** The config for people to see. */
  masked({ config, sealed_fields }: Configured): JsonObject {
    return { ...config, ...Object.fromEntries(sealed_fields.map((field) => [field, mask])) };
  }

  /** Names of the secrets that a config reads. */
  secretsOf({ type: name, config }: Configured): string[] {
    const type = Object.hasOwn(this.#types, name) ? this.#types[name] : undefined;
    return type ? namesIn(type, config) : [];
  }

  async #toPrepared({
    id,
    before,
    config,
    sealed,
  }: {
    id: string;
    before: Configured | null;
    config: JsonObject;
    sealed: JsonObject;
  }): Promise<Prepared> {
    const versionBefore = before?.sealed_version ?? 0;
    const forgotten = before ? this.forget(before) : [];
    const sealed_fields = Object.keys(sealed);
    if (sealed_fields.length === 0)
      return { kept: { config, sealed_fields, sealed_version: versionBefore }, writes: forgotten };
    const sealed_version = versionBefore + 1;
    const puts = await this.#secrets.keep(ownerOf(id), sealed_version, toUtf8(JSON.stringify(sealed)));
    return { kept: { config, sealed_fields, sealed_version }, writes: [...forgotten, ...puts] };
  }

  async #sealed({ id, sealed_fields, sealed_version }: Configured): Promise<JsonObject> {
    if (sealed_fields.length === 0) return {};
    const bytes = await this.#secrets.kept(ownerOf(id), sealed_version);
    if (!bytes)
      throw new OrchestratorError("STORAGE_CORRUPT", { message: `What is secret of channel ${id} is gone.` });
    return JSON.parse(asText(bytes)!) as JsonObject;
  }

  /**
   * The config with its secrets in it, checked. What wrote a secret may have ended its one line, which an address or a token can't have in it;
   * where any text will do, such as for a password, it counts as it is.
   */
  async #inFull(type: ChannelType, whole: JsonObject): Promise<JsonObject> {
    const secrets = await this.#dereferenced(type, whole);
    const { error } = type.config.safeParse({ ...whole, ...secrets });
    const refused = new Set(error?.issues.map(({ path: [field] }) => field));
    for (const [field, text] of Object.entries(secrets))
      if (refused.has(field)) secrets[field] = text.replace(/\r?\n$/, "");
    return this.#check(type, { ...whole, ...secrets });
  }

  /** Its fields that are secrets of their own. */
  async #dereferenced(type: ChannelType, whole: JsonObject): Promise<Record<string, string>> {
    const read: Record<string, string> = {};
    for (const field of type.secretFields) {
      const name = secretNamed(whole[field]);
      if (name === undefined) continue;
      const text = asText(await this.#secrets.resolveForServer(name));
      if (text === null)
        throw new OrchestratorError("SECRET_UNAVAILABLE", {
          message: `Secret ${name} is no text.`,
          details: { secret: name, reason: "binary" },
        });
      read[field] = text;
    }
    return read;
  }

  #check(type: ChannelType, config: JsonObject): JsonObject {
    const { success, data, error } = type.config.safeParse(config);
    if (success) return data;
    throw invalidConfig(toConfigIssues(error));
  }
}

/** Names of the secrets that a config of a type reads. */
function namesIn({ secretFields }: ChannelType, config: JsonObject): string[] {
  return secretFields.flatMap((field) => secretNamed(config[field]) ?? []);
}

/** The config with what was kept in the place of each mask. */
function unmasked(type: ChannelType, given: JsonObject, before: JsonObject): JsonObject {
  const entries = Object.entries(given).map(([field, value]): [string, Json] => {
    if (value !== mask || !type.secretFields.includes(field)) return [field, value];
    const kept = before[field];
    if (kept === undefined)
      throw invalidConfig([{ path: ["config", field], message: "has no value that could stay" }]);
    return [field, kept];
  });
  return Object.fromEntries(entries);
}

function pick(object: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(fields.map((field) => [field, object[field]!]));
}

/** No secret has such a name. */
function ownerOf(id: string): string {
  return `channel:${id}`;
}
