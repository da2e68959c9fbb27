/** What agents answer to the commands that open terminals. */
import type { Clock } from "../clock.ts";
import { OrchestratorError, type ErrorCode } from "../errors.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";

/** How long an answer is waited for. */
export const openMs = 30_000;

export class OpeningAnswers {
  readonly #clock: Clock;
  /** Who waits, by the id of the command: told null where it was carried out. */
  readonly #asked = new Map<string, { nodeId: string; answer: (error: unknown) => void }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Waits for the answer to a command; rejects with what it was refused with, and `AGENT_TIMEOUT` where none comes. */
  wait(id: string, nodeId: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.setTimer(openMs, () => answer(new OrchestratorError("AGENT_TIMEOUT")));
      const answer = (error: unknown): void => {
        timer.cancel();
        this.#asked.delete(id);
        if (error === null) resolve();
        else reject(error as Error);
      };
      this.#asked.set(id, { nodeId, answer });
    });
  }

  /** An agent answered a command; false where nobody waits for that. */
  reply(nodeId: string, { id, error }: MessageOf<AgentMessage, "reply">): boolean {
    const asked = this.#asked.get(id);
    if (asked?.nodeId !== nodeId) return false;
    asked.answer(error ? new OrchestratorError(knownCode(error.code), { message: error.message }) : null);
    return true;
  }

  /** A command could not be sent. */
  failed(id: string, error: unknown): void {
    this.#asked.get(id)?.answer(error);
  }

  /** An agent is gone, and answers nothing any more. */
  gone(nodeId: string): void {
    for (const asked of this.#asked.values())
      if (asked.nodeId === nodeId) asked.answer(new OrchestratorError("AGENT_OFFLINE"));
  }
}

const refusals: readonly ErrorCode[] = [
  "TERMINALS_REFUSED",
  "TERMINALS_UNAVAILABLE",
  "TOO_MANY_TERMINALS",
  "HOST_ERROR",
  "COMMAND_EXPIRED",
  "COMMAND_UNSUPPORTED",
];

function knownCode(code: string): ErrorCode {
  return refusals.find((known) => known === code) ?? "PEER_ERROR";
}
