/**
 * Agents that come and go.
 *
 *   unknown key ──connect──▶ pending ──approve──▶ approved ◀──▶ rejected ──remove──▶ unknown (a tombstone stays)
 *
 * A connection never changes a status; only an operator does.
 */
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { Admission, AgentIntroduction } from "../transport/transport.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";
import { AttributeIntake } from "./attribute-intake.ts";
import type { ConnectionEvents } from "./connection-events.ts";
import type { AgentDocument } from "./documents.ts";
import type { PendingSlots } from "./pending-slots.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";

/** What the enrolment goes by. */
interface EnrolmentParts {
  slots: PendingSlots;
  connections: ConnectionEvents;
}

export class Enrolment {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #slots: PendingSlots;
  readonly #connections: ConnectionEvents;
  readonly #attributes: AttributeIntake;

  constructor(context: Context, registry: AgentRegistry, parts: EnrolmentParts) {
    this.#context = context;
    this.#registry = registry;
    this.#slots = parts.slots;
    this.#connections = parts.connections;
    this.#attributes = new AttributeIntake(context, registry);
  }

  /** Decides about an agent that proved its key, making a record for a new one. */
  async admit(introduction: AgentIntroduction): Promise<Admission> {
    const known = await this.#refresh(introduction);
    return known
      ? { status: known.status }
      : this.#slots.within(introduction, (isFree) => this.#enrol(introduction, isFree));
  }

  /** An agent tells of its machine. */
  attributes(nodeId: string, told: MessageOf<AgentMessage, "attributes">): Promise<void> {
    return this.#attributes.take(nodeId, told);
  }

  /**
   * Has an agent tell of its machine, and waits until that is written.
   *
   * @throws {OrchestratorError} `AGENT_OFFLINE`; `AGENT_TIMEOUT`.
   */
  async refresh(nodeId: string, waitMs: number): Promise<void> {
    const { transport, ids, fleetTime } = this.#context;
    const not_after = toTimestamp(fleetTime.now() + waitMs);
    const { told, giveUp } = this.#attributes.await(nodeId, waitMs);
    try {
      await transport.send(nodeId, { type: "attributes.refresh", id: ids.next(), not_after });
    } catch (error) {
      giveUp();
      throw error;
    }
    if (!(await told)) throw new OrchestratorError("AGENT_TIMEOUT");
  }

  async #enrol(introduction: AgentIntroduction, isFree: boolean): Promise<Admission> {
    const now = this.#context.timestamp();
    const agent: AgentDocument = {
      ...toFacts(introduction),
      node_id: introduction.node_id,
      public_key: introduction.public_key,
      status: "pending",
      first_seen_at: now,
      last_seen_at: now,
      tags: {},
    };
    const tombstone = await this.#context.storage.get("removed_agents", introduction.node_id);
    await this.#registry.write(systemCaller, {
      before: null,
      after: agent,
      // Nothing is inherited, not even what was written while one of this key was removed.
      writes: [{ kind: "delete", collection: "agent_attributes", key: agent.node_id }],
      event: {
        type: "agent.enrolled",
        target: agentSubject(agent),
        summary: `Agent ${agent.hostname} asks to be approved`,
        metadata: { public_key: agent.public_key, removed_before: tombstone !== null },
      },
    });
    if (isFree) this.#connections.expect(agent.node_id);
    return { status: "pending" };
  }

  /**
   * Writes what an agent says of itself where it says something new; reconnecting alone writes nothing, but for an agent that
   * waits and would be forgotten if it did not come. Resolves with the agent as it is then, null where there is none.
   */
  async #refresh(introduction: AgentIntroduction): Promise<Readonly<AgentDocument> | null> {
    const facts = toFacts(introduction);
    return this.#update(introduction.node_id, (before) => {
      const same = Object.entries(facts).every(([key, value]) => before[key as keyof typeof facts] === value);
      if (before.status !== "pending" || this.#isFresh(before)) return same ? null : { ...before, ...facts };
      return { ...before, ...facts, last_seen_at: this.#context.timestamp() };
    });
  }

  /** Nobody tells any more: what waits is written. */
  async settle(): Promise<void> {
    await Promise.all([this.#attributes.flush(), this.#connections.settle()]);
  }

  /** Whether the record of an agent that waits says that it was here a short while ago. A stranger may come and go all the time. */
  #isFresh({ last_seen_at }: AgentDocument): boolean {
    return Math.abs(this.#context.clock.now() - Date.parse(last_seen_at)) < freshMs;
  }

  /**
   * Changes an agent's document, again where somebody else changed it at the same time. Resolves with the document as it is then,
   * null where there is none.
   */
  async #update(
    nodeId: string,
    change: (before: AgentDocument) => AgentDocument | null,
  ): Promise<Readonly<AgentDocument> | null> {
    return retryOnConflict(async () => {
      const before = await this.#registry.find(nodeId);
      if (!before) return null;
      const after = change(before.value);
      if (after) await this.#registry.write(systemCaller, { before, after });
      return after ?? before.value;
    });
  }
}

/** For so long an agent that came counts as here without its record saying so again. */
const freshMs = 3_600_000;

type Facts = Pick<
  AgentDocument,
  "hostname" | "platform" | "agent_version" | "box_public_key" | "remote_address"
>;

function toFacts(introduction: AgentIntroduction): Facts {
  const { hostname, platform, agent_version, box_public_key, remote_address } = introduction;
  if (hostname === "")
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "An agent must name its host." });
  return { hostname, platform, agent_version, box_public_key, remote_address };
}
