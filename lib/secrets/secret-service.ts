import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { KeptReads } from "../internal/shared-answers.ts";
import type { SecretUse } from "../module-format/template.ts";
import { toPlaceholder, type SecretReference } from "../secret-format/placeholder.ts";
import type { SealedSecrets } from "../secret-format/sealed-secrets.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { Write } from "../storage/storage.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { Deliveries, type Delivery, type RedactorOfSecrets } from "./deliveries.ts";
import { inputKeyOwner, type SecretDocument, valueKey } from "./documents.ts";
import { Expiries } from "./expiries.ts";
import { KeyRing } from "./key-ring.ts";
import { SecretStore } from "./secret-store.ts";
import { describeFault, faultFor, unavailable } from "./secret-use.ts";

const collection = "secret_values";
const tagInfo = "fleetwright/1 secret placeholder";

/** Reads secrets for the templates of one agent after another: each is read once, and stays as it was then. */
export interface SecretReader {
  /** What each of some names stands for on an agent. Never rejects for a secret that the agent can't use: that is told where it stands. */
  usesOf(names: ReadonlySet<string>, target: SelectorTarget): Promise<ReadonlyMap<string, SecretUse>>;
}

/** Secrets for other features: into templates, to agents, out of what is told. Whoever asks has authorized. */
export class SecretService {
  readonly keys: KeyRing;
  readonly store: SecretStore;
  readonly expiries: Expiries;
  readonly #context: Context;
  readonly #deliveries: Deliveries;
  readonly #work: BackgroundWork;
  readonly #selectors = new SelectorCache();
  #tagKey: Uint8Array | null = null;
  /** For hashes of inputs that hold secrets. */
  readonly #inputKey = new KeptReads<Uint8Array>();
  /** Those that were written lately: each apply writes the same, and knows them again by their tags. */
  readonly #placeholders = new BoundedCache<string>({ entries: 10_000 });

  constructor(context: Context, { agents }: { agents: AgentService }) {
    this.#context = context;
    this.#work = new BackgroundWork(context);
    this.keys = new KeyRing(context);
    this.store = new SecretStore(context, this.keys);
    this.expiries = new Expiries(context, this.store);
    this.#deliveries = new Deliveries(context, {
      agents,
      store: this.store,
      toPlaceholder: (reference) => this.#toPlaceholder(reference),
    });
  }

  /**
   * Holds the key against what is stored, goes on with a change of it, and begins to tell what expires. The function returned ends that.
   *
   * @param identitySecret - Of the orchestrator, 32 bytes: placeholders are tagged with a key of it.
   * @throws {OrchestratorError} `SECRETS_KEY_WRONG`; `SECRETS_KEY_MISSING`; `STORAGE_CORRUPT`.
   */
  async start(identitySecret: Uint8Array): Promise<() => Promise<void>> {
    const { crypto } = this.#context;
    this.#tagKey = crypto.deriveKey(identitySecret, new Uint8Array(), tagInfo, 32);
    const isChanging = await this.keys.start();
    if (this.keys.isOpen) this.#context.inputKey = () => this.#inputKey.get("", () => this.#readInputKey());
    if (isChanging) this.#work.do(() => this.keys.resume());
    const endExpiries = this.expiries.keep();
    return async () => {
      await endExpiries();
      await this.#work.stop();
    };
  }

  /** Reads what templates name; see {@link SecretReader}. */
  reader(): SecretReader {
    const reads = new KeptReads<Readonly<SecretDocument> | undefined>();
    const find = (name: string): Promise<Readonly<SecretDocument> | undefined> =>
      reads.get(name, async () => (await this.store.find(name))?.value);
    const { fleetTime } = this.#context;
    return {
      usesOf: async (names, target) => {
        const uses = new Map<string, SecretUse>();
        const user = { target, selectors: this.#selectors, now: fleetTime.now() };
        for (const name of names) uses.set(name, this.#toUse(name, await find(name), user));
        return uses;
      },
    };
  }

  /**
   * Seals the secrets that an operation needs to its agent; null where it needs none.
   *
   * @throws {OrchestratorError} `SECRET_UNAVAILABLE` where the agent may not have one of them (any more); `SECRETS_KEY_MISSING`;
   * `STORAGE_CORRUPT`.
   */
  seal(delivery: Delivery): Promise<SealedSecrets | null> {
    return this.#deliveries.seal(delivery);
  }

  /** What takes the secrets of resources out of what an agent tells of them. */
  redactor(resources: readonly ResolvedResource[]): Promise<RedactorOfSecrets> {
    return this.#deliveries.redactor(resources);
  }

  /** Whether resources hold secrets. */
  areIn(resources: readonly ResolvedResource[]): boolean {
    return this.#deliveries.in(resources).length > 0;
  }

  /** The secrets in resources by name, each with the oldest version of its value that stands there. */
  versionsIn(resources: readonly ResolvedResource[]): Map<string, number> {
    const versions = new Map<string, number>();
    for (const { name, version } of this.#deliveries.in(resources))
      versions.set(name, Math.min(version, versions.get(name) ?? Infinity));
    return versions;
  }

  /**
   * Decrypts the newest value of a secret for the orchestrator itself: for what a configuration names as `secret:NAME`, such as the
   * password of a channel. Read it for each use and keep it nowhere: so a new value counts from the next use on. Whoever refers to a
   * secret registers itself with `context.references.register("secret", ...)`, which has `used_by` tell it and keeps the secret from
   * being removed, and writes what {@link hold} gives with what refers to it.
   *
   * @param name - Of the secret, without `secret:`.
   * @returns The value, 1 to 65,536 bytes. It must get into no log, error, event or answer; `Redactor` of `secret-format` takes it out
   * of what others say.
   * @throws {OrchestratorError} `SECRET_UNAVAILABLE` where there is no such secret, it has expired, or it is restricted: a restriction
   * names the agents that may have it, and the orchestrator is none. `SECRETS_KEY_MISSING`; `STORAGE_CORRUPT`.
   */
  async resolveForServer(name: string): Promise<Uint8Array> {
    const secret = (await this.store.find(name))?.value;
    if (!secret) throw unavailable(name, "unknown");
    if (secret.restriction) throw unavailable(name, "restricted");
    const isOver =
      secret.expires_at !== undefined && Date.parse(secret.expires_at) <= this.#context.fleetTime.now();
    if (isOver) throw unavailable(name, "expired");
    const value = await this.store.value(name, secret.value_version);
    if (!value) throw unavailable(name, "removed");
    return value;
  }

  /** What to write with what begins to refer to a secret: it conflicts where that is made or removed meanwhile. To be called before the secret is read. */
  async hold(name: string): Promise<Write> {
    return (await this.store.mark(name)).write();
  }

  /**
   * Encrypts a value of another feature as secrets are, which a change of the key takes along: what a channel is configured with, say.
   *
   * @param owner - Whose it is, with a character that names of secrets do not have, e.g. `channel:<id>`.
   * @param version - Rises with each value of the owner.
   * @returns Writes that conflict where another process changes the key meanwhile.
   * @throws {OrchestratorError} `SECRETS_KEY_MISSING`.
   */
  keep(owner: string, version: number, value: Uint8Array): Promise<Write[]> {
    return this.keys.seal({ name: owner, version }, value);
  }

  /**
   * Decrypts what {@link keep} wrote; null where it is not there.
   *
   * @throws {OrchestratorError} `SECRETS_KEY_MISSING`; `STORAGE_CORRUPT`.
   */
  kept(owner: string, version: number): Promise<Uint8Array | null> {
    return this.store.value(owner, version);
  }

  /** What takes away what {@link keep} wrote. */
  forget(owner: string, version: number): Write {
    return { kind: "delete", collection, key: valueKey(owner, version) };
  }

  /** Encrypted as values are, and so the same whatever becomes of the master key: what was hashed before a change of that is known after it. */
  #readInputKey(): Promise<Uint8Array> {
    const { crypto, storage } = this.#context;
    return retryOnConflict(async () => {
      const known = await this.kept(inputKeyOwner, 1);
      if (known) return known;
      const key = crypto.randomBytes(32);
      await storage.commit(await this.keep(inputKeyOwner, 1, key));
      return key;
    });
  }

  #toUse(
    name: string,
    secret: Readonly<SecretDocument> | undefined,
    user: Parameters<typeof faultFor>[1],
  ): SecretUse {
    const fault = faultFor(secret, user);
    if (fault || !secret) return { ok: false, message: describeFault(name, fault ?? "unknown"), name };
    const { value_version: version, is_text } = secret;
    return {
      ok: true,
      write: (form) =>
        is_text || form === "base64"
          ? { ok: true, text: this.#toPlaceholder({ name, version, form }) }
          : { ok: false, message: describeFault(name, "binary"), name },
    };
  }

  #toPlaceholder({ name, version, form }: SecretReference): string {
    const key = `${name}@${version} ${form}`;
    const known = this.#placeholders.get(key);
    if (known !== undefined) return known;
    if (!this.#tagKey) throw new Error("The orchestrator is not started.");
    const tag = { crypto: this.#context.crypto, key: this.#tagKey };
    const placeholder = toPlaceholder({ name, version, form }, tag);
    this.#placeholders.set(key, placeholder);
    return placeholder;
  }
}
