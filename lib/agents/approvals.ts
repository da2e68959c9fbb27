/** What operators decide about agents: who is in the fleet, and who is kept out of it. */
import { answering, repeatable, systemCaller, toSubject, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { isWithin, parseNetwork } from "../internal/network.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { AgentIntroduction } from "../transport/transport.ts";
import { asNameTaken, findFreeName, takeName, toAgentName } from "./agent-names.ts";
import type { AgentViews } from "./agent-views.ts";
import type { AgentDocument } from "./documents.ts";
import { enrolledEvent, nothingTold, toFacts, toNewcomer } from "./newcomer.ts";
import type { Presence } from "./presence.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";
import type { RejectedAgents, RejectPendingInput } from "./schemas.ts";
import type { Voucher } from "./voucher.ts";

/** Most agents that one call rejects, and how many of them at a time. */
const mostAtOnce = 1_000;
const sideBySide = 50;

/** A decision about one agent. */
interface Decision {
  status: "approved" | "rejected";
  name: string | undefined;
  /** The status that the agent must have; undefined = any. */
  expected: AgentDocument["status"] | undefined;
  options: ChangeOptions | undefined;
}

/** A decision that is being tried. */
interface Attempt extends Decision {
  /** How often it was tried before. */
  retries: number;
}

/** An agent that somebody vouches for. */
interface Vouched {
  introduction: AgentIntroduction;
  /** What was read of it; null where it is new. */
  before: StoredDocument<AgentDocument> | null;
  /** How often it was tried before. */
  retries: number;
}

/** An agent after a decision. */
type Decided = Pick<StoredDocument<AgentDocument>, "value" | "revision">;

/** What decisions are made with. */
interface ApprovalParts {
  views: AgentViews;
  presence: Presence;
}

/** Decides about agents. */
export class Approvals {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #parts: ApprovalParts;

  constructor(context: Context, registry: AgentRegistry, parts: ApprovalParts) {
    this.#context = context;
    this.#registry = registry;
    this.#parts = parts;
  }

  /** Approves or rejects an agent; resolves when it counts, also for a connection that is there. */
  decide(caller: Caller, nodeId: string, decision: Decision): Promise<Decided> {
    return retryOnConflict((retries) => this.#changeStatus(caller, nodeId, { ...decision, retries }));
  }

  /**
   * Approves an agent that waits, or is new, by what it brings: one step for both, and one attempt, which is refused with
   * `REVISION_CONFLICT` where something that was read has changed.
   */
  async vouch({ introduction, before, retries }: Vouched, voucher: Voucher): Promise<void> {
    const { token, by, tags } = voucher;
    const waiting = before
      ? { ...before.value, ...toFacts(introduction) }
      : toNewcomer(introduction, this.#context.timestamp());
    const { after, writes } = await this.#toApproved(waiting, { by, name: undefined, retries });
    const approved: EventInput = {
      type: "agent.approved",
      target: agentSubject(after),
      summary: `Agent ${after.name ?? after.hostname} was approved by an enrolment token`,
      metadata: { before: "pending", after: "approved", enrolment_token: token },
    };
    const enrolled = before ? [] : [enrolledEvent(waiting, { removedBefore: false, token })];
    await this.#registry.write(systemCaller, {
      before,
      after: { ...after, tags },
      writes: [
        // Refused where an operator has removed one of this key in the meantime.
        { kind: "delete", collection: "removed_agents", key: after.node_id, expected: 0 },
        ...(before ? [] : nothingTold(after.node_id)),
        ...writes,
        ...voucher.writes,
      ],
      events: [...enrolled, approved],
      event: voucher.event,
    });
  }

  /** Rejects the first agents that wait and pass every filter. Where that fails for one of them, those that were rejected are told, and the rest remains. */
  async rejectPending(caller: Caller, { network, connected }: RejectPendingInput): Promise<RejectedAgents> {
    const within = network === undefined ? null : parseNetwork(network);
    const passes = (nodeId: string, address: string | null): boolean =>
      (connected === undefined || this.#parts.presence.isConnected(nodeId) === connected) &&
      (within === null || (address !== null && isWithin(within, address)));
    const nodeIds = this.#registry.pending
      .entries()
      .filter(([nodeId, address]) => passes(nodeId, address))
      .map(([nodeId]) => nodeId);
    // Made again, the call rejects who is left.
    const each = repeatable(caller);
    let rejected = 0;
    let remaining = nodeIds.length;
    for (let at = 0; at < Math.min(nodeIds.length, mostAtOnce); at += sideBySide) {
      const decided = await Promise.allSettled(
        nodeIds.slice(at, at + sideBySide).map((nodeId) => this.#rejectWaiting(each, nodeId)),
      );
      const failed = decided.filter(({ status }) => status === "rejected");
      rejected += decided.filter((one) => one.status === "fulfilled" && one.value).length;
      remaining -= decided.length - failed.length;
      if (failed.length === 0) continue;
      const [{ reason: error }] = failed as [PromiseRejectedResult];
      if (rejected === 0) throw error;
      this.#context.logger.warn("Not all agents that wait could be rejected.", { error });
      break;
    }
    return { rejected, remaining };
  }

  /** Rejects an agent unless somebody decided about it, or it went, in the meantime. */
  async #rejectWaiting(caller: Caller, nodeId: string): Promise<boolean> {
    try {
      const decision = { name: undefined, expected: "pending", options: undefined } as const;
      await this.decide(caller, nodeId, { status: "rejected", ...decision });
      return true;
    } catch (error) {
      if (isOrchestratorError(error, "INVALID_TRANSITION") || isOrchestratorError(error, "NOT_FOUND"))
        return false;
      throw error;
    }
  }

  async #changeStatus(caller: Caller, nodeId: string, decision: Attempt): Promise<Decided> {
    const { status, expected, options } = decision;
    const before = await this.#registry.read(nodeId);
    requireVersion(before, options);
    if (expected !== undefined && before.value.status !== expected)
      throw new OrchestratorError("INVALID_TRANSITION", {
        message: `The agent is ${before.value.status}, not ${expected}.`,
      });
    if (before.value.status === status)
      throw new OrchestratorError("INVALID_TRANSITION", { message: `The agent is ${status} already.` });
    const { after, writes } = await this.#toDecided(caller, before.value, decision);
    const event = {
      type: status === "approved" ? "agent.approved" : "agent.rejected",
      target: agentSubject(after),
      summary: `Agent ${after.name ?? after.hostname} was ${status}`,
      metadata: { before: before.value.status, after: status },
    } as const;
    const decided = { value: after, revision: before.revision + 1 };
    const answered = answering(caller, this.#parts.views.listed(decided));
    await this.#registry.write(answered, { before, after, writes, event }).catch(async (error: unknown) => {
      const { name } = decision;
      // A name that nobody asked for is made anew.
      throw name === undefined
        ? error
        : await asNameTaken(this.#context.storage, error, { name, agent: before.value });
    });
    return decided;
  }

  async #toDecided(
    caller: Caller,
    before: Readonly<AgentDocument>,
    decision: Attempt,
  ): Promise<{ after: AgentDocument; writes: Write[] }> {
    if (decision.name !== undefined && before.name !== undefined && decision.name !== before.name) {
      throw new OrchestratorError("INVALID_TRANSITION", {
        message: `The agent is named ${before.name}; rename it after its approval.`,
      });
    }
    if (decision.status === "approved" && before.replaced_by !== undefined) {
      throw new OrchestratorError("INVALID_TRANSITION", {
        message: `The agent was replaced by ${before.replaced_by}; only replacing that one by it lets it in again.`,
      });
    }
    if (decision.status === "rejected") return { after: { ...before, status: "rejected" }, writes: [] };
    const { name, retries } = decision;
    return this.#toApproved(before, { by: toSubject(caller).name, name, retries });
  }

  async #toApproved(
    before: Readonly<AgentDocument>,
    { by, name: wanted, retries }: { by: string; name: string | undefined; retries: number },
  ): Promise<{ after: AgentDocument; writes: Write[] }> {
    const approval = { approved_at: this.#context.timestamp(), approved_by: by };
    const after: AgentDocument = { ...before, status: "approved", ...approval };
    if (before.name !== undefined) return { after, writes: [] };
    const name = wanted ?? (await this.#nameFor(before, retries));
    return { after: { ...after, name }, writes: [takeName(name, before.node_id)] };
  }

  #nameFor({ hostname, node_id: nodeId }: Readonly<AgentDocument>, retries: number): Promise<string> {
    const wanted = toAgentName(hostname);
    return findFreeName(this.#context.storage, { wanted, nodeId, isContended: retries >= 3 });
  }
}
