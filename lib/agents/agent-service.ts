import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { Admission, AgentIntroduction } from "../transport/transport.ts";
import { AgentList } from "./agent-list.ts";
import { AgentNames } from "./agent-names.ts";
import { AgentViews } from "./agent-views.ts";
import type { AgentWatcher } from "./agent-watcher.ts";
import { AppliedModules, AppliedSecrets } from "./applied.ts";
import { Approvals } from "./approvals.ts";
import { ConnectionEvents } from "./connection-events.ts";
import type { AgentDocument } from "./documents.ts";
import { Enrolment } from "./enrolment.ts";
import { Findings } from "./findings.ts";
import { OfflineEvents } from "./offline-events.ts";
import { PendingRetention } from "./pending-retention.ts";
import { PendingSlots, type TakenSlots } from "./pending-slots.ts";
import { Presence } from "./presence.ts";
import { AgentRegistry, toTarget } from "./registry.ts";
import { Standing } from "./standing.ts";

/** What other features are to agents, and agents to them: who they are, whom selectors match, who comes and goes. */
export class AgentService {
  /** Agents that come and go; the orchestrator hands it what the transport hears. */
  readonly enrolment: Enrolment;
  readonly registry: AgentRegistry;
  /** Which agents are connected. */
  readonly presence: Presence;
  /** Which modules agents have. */
  readonly appliedModules: AppliedModules;
  /** Which secrets agents have. */
  readonly appliedSecrets: AppliedSecrets;
  /** What came of the newest apply and drift check of agents. */
  readonly findings: Findings;
  readonly views: AgentViews;
  /** Pages of agents under every filter at once. */
  readonly list: AgentList;
  readonly approvals: Approvals;
  readonly #context: Context;
  readonly #slots: PendingSlots;
  readonly #connections: ConnectionEvents;
  readonly #offline: OfflineEvents;
  readonly #standing: Standing;
  readonly #watchers: AgentWatcher[] = [];

  constructor(context: Context) {
    this.#context = context;
    this.registry = new AgentRegistry(context);
    this.presence = new Presence(context);
    this.appliedModules = new AppliedModules(context);
    this.appliedSecrets = new AppliedSecrets(context);
    const { registry, presence } = this;
    this.#standing = new Standing(context, { registry, presence, watchers: this.#watchers });
    this.findings = new Findings(context, registry);
    this.views = new AgentViews(presence, this.findings);
    this.list = new AgentList(context, {
      registry,
      presence,
      modules: this.appliedModules,
      secrets: this.appliedSecrets,
      findings: this.findings,
      names: new AgentNames(context.storage),
    });
    this.approvals = new Approvals(context, registry, { views: this.views, presence });
    this.#slots = new PendingSlots(context, {
      registry,
      presence,
      alsoForget: (nodeId) => this.forgotten(nodeId),
    });
    this.#connections = new ConnectionEvents(context, registry);
    this.#offline = new OfflineEvents(context, { registry, presence });
    this.enrolment = new Enrolment(context, registry, { slots: this.#slots, connections: this.#connections });
  }

  /** Forgets, from now on, agents that were never approved and do not come any more. The function returned ends it. */
  keepPending(): () => Promise<void> {
    return new PendingRetention(this.#context, this).keep((nodeId) => this.forgotten(nodeId));
  }

  /** Tells, from now on, which agents are away for longer, and that they are back. The function returned ends it. */
  tellOffline(): Promise<() => Promise<void>> {
    return this.#offline.start(() => this.matching("*"));
  }

  /** How many approved agents have been told offline and not back. */
  countAway(): Promise<number> {
    return this.#context.storage.count("offline_agents");
  }

  /** The first of them. */
  async awayAgents(most: number): Promise<string[]> {
    const { items } = await this.#context.storage.list("offline_agents", { limit: most });
    return items.map(({ key }) => key);
  }

  /** The slots of agents that wait to be approved, where all are taken; else null. */
  get crowded(): TakenSlots | null {
    return this.#slots.crowded;
  }

  /** Reads what is needed to answer selectors. */
  async load(): Promise<void> {
    await this.registry.load();
    await this.findings.load();
  }

  /** An admitted agent has a connection. */
  async connected({ node_id }: AgentIntroduction, admission: Admission): Promise<void> {
    this.presence.connected(node_id);
    this.#offline.connected(node_id);
    const { value: agent } = await this.registry.read(node_id);
    const told = this.#connections.connected(node_id);
    if (admission.status === "approved") this.#standing.available(node_id);
    // Approved while it was being admitted, when it had no connection yet to hear of it.
    else if (agent.status === "approved") this.#standing.approve(node_id);
    await told;
  }

  /** The connection of an agent is gone. */
  disconnected(nodeId: string, reason: string): Promise<void> {
    this.presence.disconnected(nodeId);
    this.#offline.disconnected(nodeId);
    return this.#connections.disconnected(nodeId, reason);
  }

  /** Has a watcher told about agents that may be given work. */
  watch(watcher: AgentWatcher): void {
    this.#watchers.push(watcher);
  }

  /** What else to write in the step that forgets an agent. */
  async forgotten(nodeId: string): Promise<Write[]> {
    const writes = await Promise.all(this.#watchers.map((watcher) => watcher.forget(nodeId)));
    return [...this.findings.forget(nodeId), ...writes.flat()];
  }

  /** What else to write in the step that puts one agent in the place of another. */
  async replaced(replacement: { oldId: string; newId: string }): Promise<Write[]> {
    const writes = await Promise.all(this.#watchers.map((watcher) => watcher.replace?.(replacement) ?? []));
    return writes.flat();
  }

  /**
   * Reads an agent that may be given work.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `AGENT_NOT_APPROVED`.
   */
  async requireApproved(nodeId: string): Promise<Readonly<AgentDocument>> {
    const agent: StoredDocument<AgentDocument> = await this.registry.read(nodeId);
    if (agent.value.status !== "approved") throw new OrchestratorError("AGENT_NOT_APPROVED");
    return agent.value;
  }

  /** The approved agents that a selector matches now, by node_id. */
  matching(selector: Selector | string): string[] {
    const parsed = typeof selector === "string" ? this.registry.selectors.parse(selector) : selector;
    return this.registry.matching(parsed);
  }

  /** Whether a selector matches an approved agent now: found at the first. */
  hasMatch(selector: Selector): boolean {
    return this.registry.hasMatch(selector);
  }

  /** The agent as selectors see it. */
  async target(nodeId: string): Promise<SelectorTarget> {
    const agent = await this.registry.read(nodeId);
    return toTarget(agent.value, (await this.registry.attributes(nodeId))?.attributes ?? {});
  }

  /** Whether there is such an agent, whatever its status. */
  async isKnown(nodeId: string): Promise<boolean> {
    return (await this.registry.find(nodeId)) !== null;
  }

  /** Resolves where there is or was such an agent, so that what is kept of one that was removed can be read; `NOT_FOUND` where there never was. */
  async requireRecord(nodeId: string): Promise<void> {
    if ((await this.isKnown(nodeId)) || (await this.registry.wasRemoved(nodeId))) return;
    // Once more, because one that was removed may have come back between the two.
    await this.registry.read(nodeId);
  }

  /** What to write with what is kept of an agent, so that it is not kept where the agent is removed meanwhile; null where there is no such agent. */
  expectThere(nodeId: string): Promise<Write | null> {
    return expectThere(this.#context, nodeId);
  }

  /** What people call agents, and their tags; those that are gone are left out. */
  async describe(
    nodeIds: readonly string[],
  ): Promise<(Pick<AgentDocument, "node_id" | "tags"> & { name: string })[]> {
    const found = await this.registry.findAll(nodeIds);
    return found.map(({ value: { node_id, name, hostname, tags } }) => ({
      node_id,
      name: name ?? hostname,
      tags,
    }));
  }

  /** What people call an agent; its node_id where it is gone. */
  async nameOf(nodeId: string): Promise<string> {
    const agent = await this.registry.find(nodeId);
    return agent?.value.name ?? agent?.value.hostname ?? nodeId;
  }
}

const tombstones = "removed_agents";

/** What to write with what is kept of an agent: it fails the commit where the agent was removed meanwhile. Null where there is no such agent. */
async function expectThere({ storage }: Pick<Context, "storage">, key: string): Promise<Write | null> {
  // First: whoever removes the agent after this changes it.
  const tombstone = await storage.get<JsonObject>(tombstones, key);
  if ((await storage.get("agents", key)) === null) return null;
  if (tombstone === null) return { kind: "delete", collection: tombstones, key, expected: 0 };
  return { kind: "put", collection: tombstones, key, value: tombstone.value, expected: tombstone.revision };
}
