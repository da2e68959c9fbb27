import type { z } from "zod";
import { endedByReturn, type Streams } from "../access/streams.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { toTypeFilter } from "../event-pattern.ts";
import { concernedAgents, type OrchestratorEvent } from "../events.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { Tracked } from "../internal/stream-window.ts";
import type { EventFeedService } from "./event-feed-service.ts";
import { eventStreamInput, type EventStreamItem } from "./schemas.ts";

/** What happens, as it happens. */
export class EventFeed {
  readonly #context: Context;
  readonly #streams: Streams;
  readonly #service: EventFeedService;

  constructor(context: Context, service: EventFeedService, features: { streams: Streams }) {
    this.#context = context;
    this.#service = service;
    this.#streams = features.streams;
  }

  /**
   * Tells every event from now on, each after it is on disk; with `lastEventId`, those that came after that item first.
   *
   * The first item is a `position` or a `reset`: read what you show after it, and no change is missed. Events are kept for
   * `eventRetentionHours`, `eventRetentionCount` of them at most, also over a restart of the orchestrator: a reader that was away for
   * longer, or names an item of another server, gets a `reset`. The stream ends with the session that opened it.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `RATE_LIMITED` where the session holds 32 streams open already.
   */
  stream(
    caller: Caller,
    input: z.input<typeof eventStreamInput> = {},
    signal?: AbortSignal,
  ): AsyncGenerator<Tracked<EventStreamItem>, void> {
    return endedByReturn((left) => this.#read(caller, input, left), signal);
  }

  async *#read(
    caller: Caller,
    input: z.input<typeof eventStreamInput>,
    signal: AbortSignal,
  ): AsyncGenerator<Tracked<EventStreamItem>, void> {
    await this.#context.authorize(caller, "events.stream");
    const { lastEventId, types, node_id, rollout_id } = parseInput(eventStreamInput, input);
    const wanted = types && toTypeFilter(types);
    const accepts = (event: OrchestratorEvent): boolean =>
      (!wanted || wanted(event.event_type)) &&
      (node_id === undefined || concernedAgents(event).includes(node_id)) &&
      (rollout_id === undefined || isOfRollout(event, rollout_id));
    const stream = this.#streams.open(caller, signal);
    try {
      const { signal: ended } = stream;
      for await (const step of this.#service.tail.read({
        after: lastEventId ?? undefined,
        signal: ended,
        accepts,
      })) {
        yield {
          id: step.id,
          item: step.kind === "value" ? { type: "event", event: step.value } : { type: step.kind },
        };
      }
    } finally {
      stream.close();
    }
  }
}

/** Whether an event is about a rollout, or about an operation of it. */
function isOfRollout({ target, metadata }: OrchestratorEvent, id: string): boolean {
  if (target?.type === "rollout" && target.id === id) return true;
  return "rollout_id" in metadata && metadata.rollout_id === id;
}
