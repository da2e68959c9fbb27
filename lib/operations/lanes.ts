import type { Timer } from "../clock.ts";

/** How long agents have to come back after a start: they try again after a minute at most. */
export const returnMs = 90_000;

/** How long an acknowledgement or a cancel counts. */
export const noticeMs = 60_000;

/** The work of one agent: one operation at a time. */
export interface Lane {
  /** Ids that wait, oldest first. */
  queue: string[];
  running: { operationId: string; commandId: string | null; deadline: Timer } | null;
  /** Whether the next is being taken right now, and whether somebody asked for that since it began. */
  taking: boolean;
  asked: boolean;
}

/** The work of each agent. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();

  of(nodeId: string): Lane {
    const known = this.#lanes.get(nodeId);
    if (known) return known;
    const lane: Lane = { queue: [], running: null, taking: false, asked: false };
    this.#lanes.set(nodeId, lane);
    return lane;
  }

  /** The agents for which something waits. */
  waiting(): string[] {
    return [...this.#lanes].filter(([, { queue }]) => queue.length > 0).map(([nodeId]) => nodeId);
  }
}
