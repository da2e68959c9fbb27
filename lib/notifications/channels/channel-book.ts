/** The channels, in memory: which of them a notification goes to is asked for each. They are few, and follow the feed. */
import type { AgentRegistry } from "../../agents/registry.ts";
import type { Context } from "../../context.ts";
import { isEventPattern, toTypeFilter } from "../../event-pattern.ts";
import { concernedAgents, severities, type EventType, type OrchestratorEvent } from "../../events.ts";
import { matchesSelector } from "../../selectors/match.ts";
import type { SelectorCache } from "../../selectors/selector-cache.ts";
import type { Selector } from "../../selectors/selector.ts";
import { eachDocument } from "../../storage/each-document.ts";
import type { AuditPlaceDocument, ChannelDocument, ChannelStateDocument } from "../documents.ts";
import type { Bundle } from "../inbox/bundles.ts";

interface Known {
  document: Readonly<ChannelDocument>;
  /** Null = all agents, and what is about none. */
  selector: Selector | null;
  wants: (type: EventType) => boolean;
}

export class ChannelBook {
  readonly #selectors: SelectorCache;
  readonly #agents: AgentRegistry["index"];
  readonly #channels = new Map<string, Known>();
  readonly #states = new Map<string, Readonly<ChannelStateDocument>>();
  readonly #places = new Map<string, Readonly<AuditPlaceDocument>>();

  constructor(
    { feed }: Pick<Context, "feed">,
    { index, selectors }: Pick<AgentRegistry, "index" | "selectors">,
  ) {
    this.#selectors = selectors;
    this.#agents = index;
    feed.follow<AuditPlaceDocument>("audit_places", ({ key, document }) => {
      if (document) this.#places.set(key, document.value);
      else this.#places.delete(key);
    });
    feed.follow<ChannelDocument>("channels", ({ key, document }) => {
      if (document) this.#take(document.value);
      else this.#channels.delete(key);
    });
    feed.follow<ChannelStateDocument>("channel_states", ({ key, document }) => {
      if (document) this.#states.set(key, document.value);
      else this.#states.delete(key);
    });
  }

  /** Reads what is stored. Called before anything moves. */
  async load({ storage }: Pick<Context, "storage">): Promise<void> {
    for await (const { value } of eachDocument<ChannelDocument>(storage, "channels")) this.#take(value);
    for await (const { key, value } of eachDocument<ChannelStateDocument>(storage, "channel_states"))
      this.#states.set(key, value);
    for await (const { key, value } of eachDocument<AuditPlaceDocument>(storage, "audit_places"))
      this.#places.set(key, value);
  }

  /** Up to where a channel was told of the audit log; null for one that is not. */
  placeOf(id: string): Readonly<AuditPlaceDocument> | null {
    return this.#places.get(id) ?? null;
  }

  /** Whether an event of the audit log passes the filters of a channel. What is about an agent that is gone passes every selector: nobody can tell any more. */
  wantsAudited(id: string, event: OrchestratorEvent): boolean {
    const known = this.#channels.get(id);
    if (!known?.wants(event.event_type)) return false;
    if (severities.indexOf(event.severity) < severities.indexOf(known.document.min_severity)) return false;
    const { selector } = known;
    if (selector === null) return true;
    return concernedAgents(event).some((nodeId) => {
      const agent = this.#agents.get(nodeId);
      return agent === null || matchesSelector(selector, agent);
    });
  }

  /** A channel; null where there is none. */
  get(id: string): Readonly<ChannelDocument> | null {
    return this.#channels.get(id)?.document ?? null;
  }

  /** How the last attempt of a channel ended; null before the first. */
  stateOf(id: string): Readonly<ChannelStateDocument> | null {
    return this.#states.get(id) ?? null;
  }

  /** The channels that are gone and left behind how their last attempt ended. */
  leftStates(): string[] {
    return [...this.#states.keys()].filter((id) => !this.#channels.has(id));
  }

  /** All of them. */
  all(): Readonly<ChannelDocument>[] {
    return [...this.#channels.values()].map(({ document }) => document);
  }

  /** Those that are to tell a bundle, each with the selector by which it is narrowed; null = all of it. */
  for({
    event_type,
    severity,
    events,
  }: Bundle): { document: Readonly<ChannelDocument>; selector: Selector | null }[] {
    const level = severities.indexOf(severity);
    return [...this.#channels.values()].filter(({ document, wants }) => {
      const { enabled, min_severity, id, source } = document;
      if (!enabled || source === "audit" || level < severities.indexOf(min_severity) || !wants(event_type))
        return false;
      // What a channel can't deliver it can't tell.
      return event_type !== "channel.failed" || events.some(({ target }) => target?.id !== id);
    });
  }

  #take(document: Readonly<ChannelDocument>): void {
    const { id, events, selector } = document;
    const wants = events.includes("*") ? () => true : toTypeFilter(events.filter(isEventPattern));
    const read = selector === undefined ? null : this.#selectors.kept(selector);
    this.#channels.set(id, { document, selector: read, wants });
  }
}
