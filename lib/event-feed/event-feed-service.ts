import type { Context } from "../context.ts";
import { EventRetention } from "./event-retention.ts";
import { EventTail } from "./event-tail.ts";

/** The events that are kept, for streams. */
export class EventFeedService {
  readonly tail: EventTail;
  readonly #context: Context;
  readonly #retention: EventRetention;

  constructor(context: Context) {
    this.#context = context;
    this.tail = new EventTail(context);
    this.#retention = new EventRetention(context);
  }

  /** Finds the end of the log. Called once the orchestrator has its key. */
  start(): Promise<void> {
    return this.tail.start(this.#context.identity.publicKey);
  }

  /** Removes old events from now on. The function returned ends it. */
  keepRetention(): () => Promise<void> {
    return this.#retention.keep();
  }
}
