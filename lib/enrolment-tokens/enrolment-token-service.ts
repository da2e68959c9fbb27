/**
 * Agents that come with a token.
 *
 *   unknown or pending ──token counts──▶ approved and tagged, and the use counted: one step
 *                      └──it does not──▶ as if it had brought none, and why is told to operators, not to the agent
 *   approved           ── ──▶ the token is not looked at: coming again costs no use
 *   rejected, removed  ── ──▶ the token does not count: an operator has decided about this key
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { AgentDocument } from "../agents/documents.ts";
import type { Context } from "../context.ts";
import type { Crypto } from "../crypto/crypto.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { KeyedQueue } from "../internal/keyed-queue.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { AgentIntroduction } from "../transport/transport.ts";
import type { EnrolmentTokenDocument } from "./documents.ts";
import { TokenRefusals, type RefusalReason } from "./token-refusals.ts";
import { statusOf, tokenSubject } from "./token-view.ts";

const collection = "enrolment_tokens";
/** Most tags of an agent. */
const mostTags = 64;

type StoredToken = StoredDocument<EnrolmentTokenDocument>;
type StoredAgent = StoredDocument<AgentDocument>;

/** The one text that a token is known by. */
export function hashOf(crypto: Crypto, token: string): string {
  return toHex(crypto.sha256(toUtf8(token)));
}

export class EnrolmentTokenService {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #refusals: TokenRefusals;
  /** One agent after the other for each token: of many at once none has to be decided about again for the others of this process. */
  readonly #queue = new KeyedQueue();

  constructor(context: Context, { agents }: { agents: AgentService }) {
    this.#context = context;
    this.#agents = agents;
    this.#refusals = new TokenRefusals(context);
    agents.enrolment.vouchBy((introduction) => this.#admit(introduction));
  }

  async #admit(introduction: AgentIntroduction): Promise<boolean> {
    const { enrolment_token: token } = introduction;
    if (token === undefined) return false;
    const hash = hashOf(this.#context.crypto, token);
    return this.#queue.do(hash, () =>
      retryOnConflict((retries) => this.#decide(introduction, { hash, retries })),
    );
  }

  /** All that is read here is what the step is refused for where it has changed by then. */
  async #decide(
    introduction: AgentIntroduction,
    { hash, retries }: { hash: string; retries: number },
  ): Promise<boolean> {
    const { registry, approvals } = this.#agents;
    const before = await registry.find(introduction.node_id);
    if (before?.value.status === "approved") return true;
    const token = await this.#find(hash);
    const reason = token === null ? "unknown" : await this.#reasonAgainst(token, introduction, before);
    if (token === null || reason !== null) {
      await this.#refusals.tell(introduction, { token: token?.value ?? null, reason: reason ?? "unknown" });
      return false;
    }
    await approvals.vouch({ introduction, before, retries }, this.#voucherOf(token, introduction, before));
    return true;
  }

  /** By its hash: how long that takes tells nothing of a token that is close. */
  async #find(hash: string): Promise<StoredToken | null> {
    const query = { index: "by_hash", equals: [hash], limit: 1 };
    const { items } = await this.#context.storage.list<EnrolmentTokenDocument>(collection, query);
    return items[0] ?? null;
  }

  async #reasonAgainst(
    { value: token }: StoredToken,
    { node_id }: AgentIntroduction,
    before: StoredAgent | null,
  ): Promise<RefusalReason | null> {
    if (before?.value.status === "rejected") return "agent_rejected";
    // Also of one that waits: since it was removed it came, and nobody has approved it.
    if (await this.#agents.registry.wasRemoved(node_id)) return "agent_removed";
    if (Object.keys(tagsOf(token, before)).length > mostTags) return "too_many_tags";
    const status = statusOf(token, this.#context.fleetTime.now());
    return status === "active" ? null : status;
  }

  #voucherOf(
    { value: token, revision, key }: StoredToken,
    { node_id }: AgentIntroduction,
    before: StoredAgent | null,
  ): Parameters<AgentService["approvals"]["vouch"]>[1] {
    const used = token.used + 1;
    const after = { ...token, used, last_used_at: this.#context.timestamp() };
    return {
      token: token.id,
      by: `enrolment token ${token.name ?? token.id}`,
      tags: tagsOf(token, before),
      writes: [{ kind: "put", collection, key, value: toJsonObject(after), expected: revision }],
      event: {
        type: "enrolmentToken.used",
        target: tokenSubject(token),
        summary: `The enrolment token ${token.name ?? token.id} was used, ${used} of ${token.uses} times`,
        metadata: { node_id, used, uses: token.uses },
      },
    };
  }
}

/** What an operator put on the agent while it waited counts more. */
function tagsOf(token: Readonly<EnrolmentTokenDocument>, before: StoredAgent | null): Record<string, string> {
  return { ...token.tags, ...before?.value.tags };
}
