import type { Context } from "../context.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";

/** Lines of one agent a minute that reach the log. */
const linesPerMinute = 60;
/** Characters of such a line that are kept. */
const maxCharacters = 1000;

/** Brings what agents report into the log, a bounded part of it: a machine that was taken over must not fill the disk. */
export class AgentReports {
  readonly #context: Context;
  readonly #rate: RateLimiter;
  /** Lines of an agent that were left out since the last that was not. */
  readonly #leftOut = new Map<string, number>();

  constructor(context: Context) {
    this.#context = context;
    this.#rate = new RateLimiter(context.clock, linesPerMinute);
  }

  /** Logs a line of an agent, or counts it. */
  take(nodeId: string, { level, message }: MessageOf<AgentMessage, "log">): void {
    const lines = this.#leftOut.get(nodeId) ?? 0;
    if (!this.#rate.tryTake(nodeId)) {
      this.#leftOut.set(nodeId, lines + 1);
      return;
    }
    this.#leftOut.delete(nodeId);
    // Not `level`: that of the line itself is ours to say.
    this.#context.logger.info("An agent reports.", {
      node_id: nodeId,
      agent_level: level,
      text: message.slice(0, maxCharacters),
      ...(lines > 0 && { left_out: lines }),
    });
  }

  /** Forgets an agent that left. */
  forget(nodeId: string): void {
    this.#leftOut.delete(nodeId);
  }
}
