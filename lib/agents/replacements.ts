/**
 * A machine that was installed anew has a new key, and so is a new agent: it takes the place of the old one by a verb of its own.
 *
 *   old: approved | rejected, with a name ──▶ rejected, replaced_by, without name and tags
 *   new: pending | approved               ──▶ approved, with the name and the tags of the old one
 *
 * All of it is one step. Back again it goes by the same verb, the agents changed about: then the new one of that call is the one that was
 * replaced by the old one, and no other rejected agent may be.
 *
 *   the one in place:        approved | rejected ──▶ rejected, with the name and the tags that it gave up; an approval lets it in again
 *   the one that comes back: rejected            ──▶ as it was before it was replaced, with the name and the tags that the place has by now
 *
 * So work that waits for the place is never done by a machine that was there by mistake.
 */
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import type { ReplacementFacts } from "../event-facts.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { freeName, handOverName, takeName } from "./agent-names.ts";
import type { AgentService } from "./agent-service.ts";
import type { AgentDocument } from "./documents.ts";
import { invalid } from "./many-agents.ts";
import { agentSubject, putAgent } from "./registry.ts";
import type { Agent } from "./schemas.ts";

type Document = Readonly<AgentDocument>;
type Stored = StoredDocument<AgentDocument>;

/** What {@link Replacements} needs of the agents. */
type ReplacementParts = Pick<AgentService, "registry" | "presence" | "views" | "findings" | "replaced">;

/** Which agent takes the place of which. */
interface Replacement {
  node_id: string;
  by: string;
  force?: boolean | undefined;
}

/** Two agents that may be changed about. */
interface Pair {
  old: Stored;
  fresh: Stored;
  /** The name that goes over. */
  name: string;
  isConnected: boolean;
  /** Whether the new one takes its own place back. */
  isBack: boolean;
}

/** Puts agents in the place of others. */
export class Replacements {
  readonly #context: Context;
  readonly #parts: ReplacementParts;

  constructor(context: Context, parts: ReplacementParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** @throws {OrchestratorError} `VALIDATION_FAILED`; `NOT_FOUND`; `INVALID_TRANSITION`; `PRECONDITION_FAILED`. */
  replace(caller: Caller, replacement: Replacement, options: ChangeOptions | undefined): Promise<Agent> {
    const { node_id: oldId, by: newId } = replacement;
    if (oldId === newId) throw invalid("by", "is the agent that is replaced");
    return retryOnConflict(async () => {
      const { registry } = this.#parts;
      const [old, fresh] = await Promise.all([registry.read(oldId), registry.read(newId)]);
      requireVersion(old, options);
      return this.#write(caller, this.#check({ old, fresh }, replacement.force === true));
    });
  }

  #check({ old, fresh }: { old: Stored; fresh: Stored }, force: boolean): Pair {
    const { name, replaced_by } = old.value;
    if (name === undefined)
      throw refused(
        replaced_by === undefined
          ? "The old agent has no name: it was never approved."
          : `The old agent was replaced by ${replaced_by} already.`,
      );
    const isBack = fresh.value.replaced_by === old.key;
    const place = old.value.in_place_of?.node_id;
    if (isBack && place !== undefined && place !== fresh.key)
      throw refused(`The place of the new agent was left: the old one stands in that of ${place} by now.`);
    if (fresh.value.status === "rejected" && !isBack)
      throw refused("The new agent was rejected: whoever wants it in the fleet approves it first.");
    // A machine that works would lose its name and tags to a slip of the finger.
    if (fresh.value.status === "approved" && this.#parts.findings.of(fresh.key)?.last_apply && !force)
      throw refused(
        `${fresh.value.name} was applied to already: it takes another place with \`force\` only.`,
      );
    const isConnected = this.#parts.presence.isConnected(old.key);
    if (isConnected && !force)
      throw refused(`${name} is connected: a machine that runs is replaced with \`force\` only.`);
    return { old, fresh, name, isConnected, isBack };
  }

  async #write(caller: Caller, pair: Pair): Promise<Agent> {
    const { registry, views } = this.#parts;
    const { old, fresh, name } = pair;
    const after = this.#toSuccessor(caller, pair);
    const agent = views.listed({ value: after, revision: fresh.revision + 1 });
    const left = await this.#toReplaced(pair);
    const given = fresh.value.name;
    const writes: Write[] = [
      putAgent(old, left),
      handOverName(name, fresh.key),
      ...(given === undefined ? [] : [freeName(given)]),
      ...(left.name === undefined ? [] : [takeName(left.name, old.key)]),
      ...(await this.#parts.replaced({ oldId: old.key, newId: fresh.key })),
    ];
    await registry.write(answering(caller, agent), {
      before: fresh,
      after,
      writes,
      events: toDecisions(pair, after),
      event: toEvent(pair, after),
    });
    return agent;
  }

  #toSuccessor(caller: Caller, { old, fresh, name, isBack }: Pair): AgentDocument {
    const { replaced_by: _, status_when_replaced: before = "approved", ...known } = fresh.value;
    const status = isBack ? before : "approved";
    const approval = { approved_at: this.#context.timestamp(), approved_by: toSubject(caller).name };
    const { name: own, tags } = fresh.value;
    const gaveUp = { node_id: old.key, ...(own !== undefined && { name: own }), tags };
    return {
      ...known,
      ...(status === "approved" && known.status !== "approved" && approval),
      ...(!isBack && { in_place_of: gaveUp }),
      status,
      name,
      tags: { ...old.value.tags },
    };
  }

  async #toReplaced({ old, fresh, isBack }: Pair): Promise<AgentDocument> {
    const { name: _, in_place_of: gaveUp, ...known } = old.value;
    if (isBack && gaveUp?.node_id === fresh.key) {
      const { name, tags } = gaveUp;
      const isFree =
        name !== undefined && !(await this.#context.storage.get("agent_names", name.toLowerCase()));
      return { ...known, status: "rejected", ...(isFree && { name }), tags };
    }
    // Nothing that lets it in, or is about it by its name or tags, stays with it.
    return {
      ...known,
      ...(gaveUp && { in_place_of: gaveUp }),
      status: "rejected",
      replaced_by: fresh.key,
      status_when_replaced: old.value.status,
      tags: {},
    };
  }
}

/** For those who follow what is decided: what each agent became, where that is another status than before. */
function toDecisions({ old, fresh }: Pair, after: Document): EventInput[] {
  const events: EventInput[] = [];
  if (old.value.status !== "rejected")
    events.push({
      type: "agent.rejected",
      target: agentSubject(old.value),
      summary: `Agent ${old.value.name ?? old.value.hostname} was rejected, since another takes its place`,
      metadata: { before: old.value.status, after: "rejected", replaced_by: fresh.key },
    });
  if (fresh.value.status !== "approved" && after.status === "approved")
    events.push({
      type: "agent.approved",
      target: agentSubject(after),
      summary: `Agent ${after.name ?? after.hostname} was approved in the place of another`,
      metadata: { before: fresh.value.status, after: "approved", replaces: old.key },
    });
  return events;
}

function toEvent({ old, fresh, name, isConnected }: Pair, after: Document): EventInput {
  return {
    type: "agent.replaced",
    target: agentSubject(after),
    summary: `Agent ${name} is ${fresh.key} from now on, in place of ${old.key}`,
    metadata: { replaced: toFacts(old.value), by: toFacts(fresh.value), forced: isConnected },
  };
}

function toFacts({ node_id, name, hostname, status, tags }: Document): ReplacementFacts {
  return { node_id, name: name ?? null, hostname, status, tags };
}

function refused(message: string): OrchestratorError {
  return new OrchestratorError("INVALID_TRANSITION", { message });
}
