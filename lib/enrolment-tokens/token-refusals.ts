/**
 * Tells operators that a token did not count, and why; the agent is told nothing of it, and waits as any other. What strangers cause
 * is told a bounded number of times, as each is a commit.
 */
import { systemCaller } from "../callers/caller.ts";
import { Denials } from "../callers/denials.ts";
import type { Context, EventInput } from "../context.ts";
import type { EventMetadata } from "../event-metadata.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { sourceOfAddress } from "../internal/network.ts";
import type { AgentIntroduction } from "../transport/transport.ts";
import type { EnrolmentTokenDocument } from "./documents.ts";
import { tokenSubject } from "./token-view.ts";

/** How many of one source are told in a minute, and how many of all together. */
const perSource = 10;
const perMinute = 60;
/** Of so many agents it is known what was told: one that comes again and again with the same is told once. */
const mostTold = 10_000;

/** Why a token did not count. */
export type RefusalReason = EventMetadata["enrolmentToken.refused"]["reason"];

/** A token that did not count; null where there is none such. */
interface RefusedToken {
  token: Readonly<EnrolmentTokenDocument> | null;
  reason: RefusalReason;
}

export class TokenRefusals {
  readonly #context: Context;
  readonly #denials: Denials;
  readonly #told = new BoundedCache<string>({ entries: mostTold });

  constructor(context: Context) {
    this.#context = context;
    this.#denials = new Denials(context.clock, perSource, perMinute);
  }

  /** Tells it, unless it was told of this agent, or enough was told. */
  async tell(agent: AgentIntroduction, { token, reason }: RefusedToken): Promise<void> {
    const { node_id, hostname, remote_address } = agent;
    const what = `${reason} ${token?.id ?? ""}`;
    if (this.#told.get(node_id) === what) return;
    const source = sourceOfAddress(remote_address ?? "");
    const unrecorded = this.#denials.next(source);
    if (unrecorded === null) return;
    const event: EventInput = {
      type: "enrolmentToken.refused",
      ...(token && { target: tokenSubject(token) }),
      summary: `Agent ${hostname} came with an enrolment token that does not count: ${reason.replaceAll("_", " ")}`,
      metadata: { reason, node_id, remote_address, ...(unrecorded > 0 && { unrecorded }) },
    };
    await this.#context.tell("enrolmentToken.refused", async () => {
      try {
        await this.#context.commit(systemCaller, [], event);
        this.#told.set(node_id, what);
      } catch (error) {
        this.#denials.giveBack(source, unrecorded);
        throw error;
      }
    });
  }
}
