import type { Write } from "../storage/storage.ts";

/** Hears of agents that may be given work, or no longer, or are forgotten. */
export interface AgentWatcher {
  /** An approved agent has a connection. */
  available(nodeId: string): void;
  /** An agent was rejected or removed: what it was to do is over. */
  dismissed(nodeId: string): void;
  /** What else to write in the step that forgets an agent. */
  forget(nodeId: string): readonly Write[] | Promise<readonly Write[]>;
  /** What else to write in the step that puts one agent in the place of another; absent = nothing. */
  replace?(replacement: { oldId: string; newId: string }): Promise<Write[]>;
}
