/** Names of agents that have one already: changed one by one, or many after what they tell of their machines. */
import { answering, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { StoredDocument } from "../storage/storage.ts";
import { asNameTaken, changeName, nameOf } from "./agent-names.ts";
import type { AgentViews } from "./agent-views.ts";
import type { AgentDocument, AttributesDocument } from "./documents.ts";
import { invalid } from "./many-agents.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";
import type { Agent } from "./schemas.ts";

/** An agent after it was renamed, or was named so already. */
interface Renamed {
  agent: Agent;
  changed: boolean;
}

/** What an agent tells of its machine; undefined where it tells nothing of that name. */
type Told = string | number | boolean | undefined;

/** Gives agents other names. */
export class Renames {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #views: AgentViews;

  constructor(context: Context, { registry, views }: { registry: AgentRegistry; views: AgentViews }) {
    this.#context = context;
    this.#registry = registry;
    this.#views = views;
  }

  /**
   * Renames an agent: its document and both names in one step. Nothing is written where it is named so.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has no name yet; `ALREADY_EXISTS` with both agents;
   * `PRECONDITION_FAILED`.
   */
  rename(
    caller: Caller,
    nodeId: string,
    { name, options }: { name: string; options?: ChangeOptions | undefined },
  ): Promise<Renamed> {
    return retryOnConflict(async () => {
      const before = await this.#registry.read(nodeId);
      requireVersion(before, options);
      const known = before.value.name;
      if (known === undefined)
        throw new OrchestratorError("INVALID_TRANSITION", { message: describeNameless(before.value) });
      if (known === name) return { agent: this.#views.listed(before), changed: false };
      return { agent: await this.#write(caller, before, { from: known, to: name }), changed: true };
    });
  }

  /**
   * Renames an agent after its hostname, or after an attribute. Resolves with whether it got another name.
   *
   * @throws {OrchestratorError} As {@link Renames.rename}; `VALIDATION_FAILED` where it tells nothing that a name can be made of.
   */
  async renameAfter(caller: Caller, nodeId: string, from: string): Promise<boolean> {
    const { hostname } = (await this.#registry.read(nodeId)).value;
    const told = from === "hostname" ? hostname : attributeOf(await this.#registry.attributes(nodeId), from);
    if (told === undefined) throw invalid("from", `the agent tells no ${from}`);
    const name = nameOf(String(told));
    if (name === null) throw invalid("from", `no name can be made of the ${from} that the agent tells`);
    return (await this.rename(caller, nodeId, { name })).changed;
  }

  /**
   * The names that agents would get after their hostnames, or an attribute, without those that tell nothing of use. Only their order hangs on
   * it: none are known where they can't be read.
   */
  async wishes(nodeIds: readonly string[], from: string): Promise<Map<string, string>> {
    const wanted = new Map<string, string>();
    try {
      for (const [nodeId, told] of await this.#toldByMany(nodeIds, from)) {
        const name = told === undefined ? null : nameOf(String(told));
        if (name !== null) wanted.set(nodeId, name);
      }
    } catch (error) {
      this.#context.logger.warn("Agents could not be read to rename them in order.", { error });
    }
    return wanted;
  }

  /**
   * Those of some wishes that wait for a name which another of them gives up, and who gives it up, each behind whom it waits for. A circle
   * has no such order: it comes as it is, and fails.
   */
  inOrder(wanted: ReadonlyMap<string, string>): string[] {
    const givenUp = new Map<string, string>();
    for (const [nodeId, wish] of wanted) {
      const name = this.#registry.index.get(nodeId)?.name?.toLowerCase();
      if (name !== undefined && name !== wish.toLowerCase()) givenUp.set(name, nodeId);
    }
    const order = new Set<string>();
    for (const first of wanted.keys()) {
      // A chain of who waits for whom; its end goes first.
      const chain = new Set<string>();
      let next: string | undefined = first;
      while (next !== undefined && !chain.has(next) && !order.has(next)) {
        chain.add(next);
        next = givenUp.get(wanted.get(next)!.toLowerCase());
      }
      const waits = chain.size > 1 || next !== undefined;
      if (waits) for (const nodeId of [...chain].toReversed()) order.add(nodeId);
    }
    return [...order];
  }

  async #toldByMany(nodeIds: readonly string[], from: string): Promise<[nodeId: string, told: Told][]> {
    if (from === "hostname")
      return (await this.#registry.findAll(nodeIds)).map(({ key, value }) => [key, value.hostname]);
    const stored = await this.#context.storage.getMany<AttributesDocument>("agent_attributes", nodeIds);
    return stored.flatMap((each): [string, Told][] =>
      each ? [[each.key, attributeOf(each.value, from)]] : [],
    );
  }

  async #write(
    caller: Caller,
    before: StoredDocument<AgentDocument>,
    { from, to }: { from: string; to: string },
  ): Promise<Agent> {
    const after: AgentDocument = { ...before.value, name: to };
    const agent = this.#views.listed({ value: after, revision: before.revision + 1 });
    const change = {
      before,
      after,
      writes: changeName(after.node_id, { from, to }),
      event: {
        type: "agent.renamed",
        target: agentSubject(after),
        summary: `Agent ${from} is named ${to}`,
        metadata: { before: from, after: to },
      },
    } as const;
    await this.#registry.write(answering(caller, agent), change).catch(async (error: unknown) => {
      throw await asNameTaken(this.#context.storage, error, { name: to, agent: before.value });
    });
    return agent;
  }
}

function describeNameless({ status, replaced_by }: Readonly<AgentDocument>): string {
  if (replaced_by !== undefined) return `The agent was replaced by ${replaced_by}, which has its name.`;
  return `The agent is ${status} and has no name yet: it gets one when it is approved.`;
}

function attributeOf(document: Readonly<AttributesDocument> | null, key: string): Told {
  const { attributes = {} } = document ?? {};
  return Object.hasOwn(attributes, key) ? attributes[key] : undefined;
}
