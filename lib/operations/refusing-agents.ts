import type { ErrorCode } from "../errors.ts";

/** After so many commands that an agent refused one after the other, it counts as one that refuses everything. */
const refusals = 3;

/** Refusals of one command for what it says: an agent that works gives them, and one that does not may. */
const ofOneCommand: ReadonlySet<string> = new Set<ErrorCode>(["EMPTY_DESIRED_STATE", "RESULT_GONE"]);

/** An agent that takes no commands. */
export interface RefusingAgent {
  node_id: string;
  /** Error code of what it refused last. */
  code: string;
}

/** Remembers which agents refuse whatever they are sent: each such operation fails, and nobody sees that the next one will. */
export class RefusingAgents {
  readonly #refused = new Map<string, { code: string; times: number }>();

  /** An agent refused a command. */
  refused(nodeId: string, code: string): void {
    if (ofOneCommand.has(code)) return;
    const times = (this.#refused.get(nodeId)?.times ?? 0) + 1;
    this.#refused.set(nodeId, { code, times });
  }

  /** An agent took a command. */
  forget(nodeId: string): void {
    this.#refused.delete(nodeId);
  }

  /** Those that refuse everything. */
  list(): RefusingAgent[] {
    return [...this.#refused]
      .filter(([, { times }]) => times >= refusals)
      .map(([node_id, { code }]) => ({ node_id, code }));
  }
}
