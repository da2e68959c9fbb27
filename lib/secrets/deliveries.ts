/** Secrets on their way to agents, and out of what agents tell. */
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { fromHex } from "../crypto/encoding.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import {
  type FoundPlaceholder,
  findPlaceholders,
  type SecretReference,
} from "../secret-format/placeholder.ts";
import { Redactor } from "../secret-format/redactor.ts";
import { type SealedSecrets, sealSecrets } from "../secret-format/sealed-secrets.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { SecretStore } from "./secret-store.ts";
import { faultFor, unavailable } from "./secret-use.ts";

/** What is to be done, and where. */
export interface Delivery {
  nodeId: string;
  operationId: string;
  resources: readonly ResolvedResource[];
  /** Whether the machine is only compared with what it was given. */
  isCheck: boolean;
}

/** What takes secrets out. */
export interface RedactorOfSecrets {
  redactor: Redactor;
  /** Whether it takes all of them out that are kept; else one of them could not be read. */
  isWhole: boolean;
}

interface Parts {
  agents: AgentService;
  store: SecretStore;
  /** Writes a placeholder as this orchestrator does, with its tag. */
  toPlaceholder: (reference: SecretReference) => string;
}

/** How many redactors are remembered, and how many characters they look for altogether. */
const remembered = { entries: 200, weight: 64_000_000 };
/** A trace of each form for each byte, about. */
const weightOfByte = 24;

export class Deliveries {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #selectors = new SelectorCache();
  readonly #found = new WeakMap<readonly ResolvedResource[], readonly FoundPlaceholder[]>();
  /** By the versions that they take out. */
  readonly #redactors = new BoundedCache<Redactor>(remembered);

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** The placeholders of resources that this orchestrator made. */
  in(resources: readonly ResolvedResource[]): readonly FoundPlaceholder[] {
    const known = this.#found.get(resources);
    if (known) return known;
    // What a secret goes into is sensitive.
    const specs = resources.flatMap(({ sensitive, skip, spec }) => (sensitive && !skip ? spec : []));
    const written = specs.length > 0 ? findPlaceholders(specs) : [];
    const found = written.filter((each) => each.text === this.#parts.toPlaceholder(each));
    this.#found.set(resources, found);
    return found;
  }

  /**
   * Seals what an operation needs to its agent; null where it needs no secrets.
   *
   * @throws {OrchestratorError} `SECRET_UNAVAILABLE` where the agent may not have one of them (any more); `SECRETS_KEY_MISSING`;
   * `STORAGE_CORRUPT`; `NOT_FOUND` for an agent that is gone.
   */
  async seal({ nodeId, operationId, resources, isCheck }: Delivery): Promise<SealedSecrets | null> {
    const placeholders = this.in(resources);
    if (placeholders.length === 0) return null;
    const { agents, store } = this.#parts;
    const agent = await agents.registry.read(nodeId);
    const target = await agents.target(nodeId);
    const user = { target, selectors: this.#selectors, now: this.#context.fleetTime.now(), isCheck };
    const values: Uint8Array[] = [];
    const places: { text: string; form: string; value: number }[] = [];
    const known = new Map<string, number>();
    for (const { text, form, name, version } of placeholders) {
      const key = `${name}@${version}`;
      let at = known.get(key);
      if (at === undefined) {
        const secret = (await store.find(name))?.value;
        const fault = faultFor(secret, user);
        if (fault) throw unavailable(name, fault);
        const value = await store.value(name, version);
        if (!value) throw unavailable(name, "removed");
        at = values.push(value) - 1;
        known.set(key, at);
      }
      places.push({ text, form, value: at });
    }
    const { crypto } = this.#context;
    const boxKey = fromHex(agent.value.box_public_key)!;
    return sealSecrets({ values, places }, { crypto, boxKey, nodeId, operationId });
  }

  /** What takes the secrets of resources out of what an agent tells. Those that are not there any more only the agent can take out. */
  async redactor(resources: readonly ResolvedResource[]): Promise<RedactorOfSecrets> {
    const keys = new Map(
      this.in(resources).map(({ name, version }) => [`${name}@${version}`, { name, version }]),
    );
    if (keys.size === 0) return { redactor: none, isWhole: true };
    const id = [...keys.keys()].sort().join(",");
    const known = this.#redactors.get(id);
    if (known) return { redactor: known, isWhole: true };
    const values: Uint8Array[] = [];
    let isWhole = true;
    for (const { name, version } of keys.values()) {
      const value = await this.#parts.store.value(name, version).catch((error: unknown) => {
        isWhole = false;
        this.#context.logger.warn("A secret can't be looked for in what an agent tells.", {
          secret: name,
          error,
        });
        return null;
      });
      if (value) values.push(value);
    }
    const redactor = new Redactor(values);
    const bytes = values.reduce((sum, { length }) => sum + length, 0);
    // What can't be read now may be read for the next message.
    if (isWhole) this.#redactors.set(id, redactor, bytes * weightOfByte);
    return { redactor, isWhole };
  }
}

const none = new Redactor([]);
