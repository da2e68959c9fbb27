/**
 * Tells that secrets expire: once some days before, once when they have. What is due is found by an index, and the record of it changes in
 * the commit of its event: so it is told once, however many processes look.
 */
import { systemCaller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { dayMs } from "../internal/durations.ts";
import { toJsonObject } from "../json.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { keepRetention } from "../upkeep/retention.ts";
import type { SecretDocument, SecretExpiryDocument } from "./documents.ts";
import type { SecretStore } from "./secret-store.ts";

const collection = "secret_expiries";
/** How often what is due is looked for, milliseconds. */
const everyMs = 60_000;
const atOnce = 100;

export class Expiries {
  readonly #context: Context;
  readonly #store: SecretStore;
  #isPlanned = false;

  constructor(context: Context, store: SecretStore) {
    this.#context = context;
    this.#store = store;
  }

  /** Looks now and every minute. The function returned ends it. */
  keep(): () => Promise<void> {
    return keepRetention(this.#context, "expiries of secrets", { round: () => this.round(), everyMs });
  }

  /** What is to be written with a secret that expires then, or not any more. */
  plan({ name, expires_at }: Pick<SecretDocument, "name" | "expires_at">): Write {
    if (expires_at === undefined) return { kind: "delete", collection, key: name };
    return put({ name, due_at: this.#warnedAt(expires_at), stage: "expiring" });
  }

  /** Tells what is due; yields after each slice. */
  async *round(): AsyncGenerator<void> {
    if (!this.#isPlanned) await this.#planAnew();
    this.#isPlanned = true;
    for (;;) {
      const to = this.#context.fleetTime.now() + 1;
      const query = { index: "by_due", to, limit: atOnce };
      const { items } = await this.#context.storage.list<SecretExpiryDocument>(collection, query);
      for (const due of items) await this.#tell(due);
      if (items.length < atOnce) return;
      yield;
    }
  }

  /** The setting may have been another one when they were written. */
  async #planAnew(): Promise<void> {
    for await (const due of eachDocument<SecretExpiryDocument>(this.#context.storage, collection)) {
      const { key, revision, value } = due;
      const { expires_at } = (value.stage === "expiring" && (await this.#store.find(key))?.value) || {};
      if (expires_at === undefined) continue;
      const due_at = this.#warnedAt(expires_at);
      if (due_at !== value.due_at) await this.#commit([{ ...put({ ...value, due_at }), expected: revision }]);
    }
  }

  #warnedAt(expiresAt: string): number {
    return Date.parse(expiresAt) - this.#context.options.secretExpiryWarningDays * dayMs;
  }

  async #tell({ key, revision, value: due }: StoredDocument<SecretExpiryDocument>): Promise<void> {
    const secret = (await this.#store.find(key))?.value;
    const { expires_at } = secret ?? {};
    const gone: Write = { kind: "delete", collection, key, expected: revision };
    if (!secret || expires_at === undefined) return this.#commit([gone]);
    const atMs = Date.parse(expires_at);
    const isOver = due.stage === "expired" || atMs <= this.#context.fleetTime.now();
    const next: Write = isOver
      ? gone
      : { ...put({ name: key, due_at: atMs, stage: "expired" }), expected: revision };
    await this.#commit([next], {
      type: isOver ? "secret.expired" : "secret.expiring",
      target: { type: "secret", id: key, name: key },
      summary: isOver ? `Secret ${key} has expired` : `Secret ${key} expires at ${expires_at}`,
      metadata: { value_version: secret.value_version, expires_at },
    });
  }

  /** What was changed meanwhile is looked at with the next round. */
  async #commit(writes: Write[], ...events: EventInput[]): Promise<void> {
    try {
      await this.#context.commit(systemCaller, writes, ...events);
    } catch (error) {
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }
}

function put(due: SecretExpiryDocument): Extract<Write, { kind: "put" }> {
  return { kind: "put", collection, key: due.name, value: toJsonObject(due) };
}
