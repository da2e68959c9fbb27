/**
 * Agents that come and go.
 *
 *   unknown key ──connect──▶ pending ──approve──▶ approved ◀──▶ rejected ──remove──▶ unknown (a tombstone stays)
 *
 * A connection never changes a status, unless it brings an enrolment token: an operator made that beforehand.
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
import { enrolledEvent, nothingTold, toFacts, toNewcomer } from "./newcomer.ts";
import type { PendingSlots } from "./pending-slots.ts";
import type { AgentRegistry } from "./registry.ts";
import type { AdmitByVoucher } from "./voucher.ts";

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
  #admitByVoucher: AdmitByVoucher = () => Promise.resolve(false);

  constructor(context: Context, registry: AgentRegistry, parts: EnrolmentParts) {
    this.#context = context;
    this.#registry = registry;
    this.#slots = parts.slots;
    this.#connections = parts.connections;
    this.#attributes = new AttributeIntake(context, registry);
  }

  /** Has what agents bring that are not approved looked at, before they wait. */
  vouchBy(admit: AdmitByVoucher): void {
    this.#admitByVoucher = admit;
  }

  /** Decides about an agent that proved its key, making a record for a new one. */
  async admit(introduction: AgentIntroduction): Promise<Admission> {
    const known = (await this.#vouched(introduction)) ?? (await this.#refresh(introduction));
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

  /** Has what an agent brings looked at. Resolves with the agent where it is approved by that, or was before; else null. */
  async #vouched(introduction: AgentIntroduction): Promise<Pick<AgentDocument, "status"> | null> {
    if (introduction.enrolment_token === undefined) return null;
    const known = await this.#registry.find(introduction.node_id);
    if (known?.value.status === "approved") return null;
    return (await this.#admitByVoucher(introduction)) ? { status: "approved" } : null;
  }

  async #enrol(introduction: AgentIntroduction, isFree: boolean): Promise<Admission> {
    const agent = toNewcomer(introduction, this.#context.timestamp());
    const removedBefore = await this.#registry.wasRemoved(agent.node_id);
    await this.#registry.write(systemCaller, {
      before: null,
      after: agent,
      writes: nothingTold(agent.node_id),
      event: enrolledEvent(agent, { removedBefore }),
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
