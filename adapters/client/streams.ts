/** The streams of the server by name: what is told item by item. */
import type { EventPattern, EventStreamItem, MatchedType, OperationWatchItem } from "fleetwright";
import { endedByReturn } from "./event-stream.ts";
import type { Query } from "./http.ts";
import type { EventFilter } from "./inputs.ts";

/** Reads a stream of the server. */
export type Watch = <Item>(path: string, query?: Query, signal?: AbortSignal) => AsyncGenerator<Item, void>;

/** Streams by feature. */
export interface Streams {
  operations: {
    /** How an operation goes on, to its end: `ended` is the last item. Who comes back is told all of it again. */
    watch: (operationId: string, signal?: AbortSignal) => AsyncGenerator<OperationWatchItem, void>;
  };
  events: {
    /**
     * Events as they happen. The first item is a `position`: what is read after it misses no change; the same goes for a
     * `reset`, before which something was missed. `filter.types` narrows the events for the compiler, too.
     */
    stream: <const Pattern extends EventPattern = EventPattern>(
      filter?: EventFilter<Pattern>,
      signal?: AbortSignal,
    ) => AsyncGenerator<EventStreamItem<MatchedType<Pattern>>, void>;
  };
}

/** Gives each stream its name. */
export function createStreams(watch: Watch): Streams {
  return {
    operations: {
      watch: (operationId, signal) =>
        endedByReturn(
          (left) => untilEnded(watch(`/state/operations/${encodeURIComponent(operationId)}/watch`, {}, left)),
          signal,
        ),
    },
    events: { stream: (filter, signal) => watch("/events", { ...filter }, signal) },
  };
}

async function* untilEnded(
  items: AsyncGenerator<OperationWatchItem, void>,
): AsyncGenerator<OperationWatchItem, void> {
  for await (const item of items) {
    yield item;
    if (item.type === "ended") return;
  }
}
