import type { FrameTurns } from "./frame-turns.ts";
import type { LongReads } from "./long-reads.ts";
import type { TimeBudgets } from "./time-budget.ts";
import type { TransportContext, TransportHandlers } from "./transport.ts";

/** What a connection needs of the transport that it belongs to. */
export interface ConnectionHost<Connection> {
  readonly context: TransportContext;
  readonly handlers: TransportHandlers;
  readonly sendLimitBytes: number;
  readonly handshakeTimeoutMs: number;
  /** The time that each agent may take. */
  readonly budgets: TimeBudgets;
  /** Does the reading of long messages. */
  readonly reads: LongReads;
  /** Gives frames their turns. */
  readonly turns: FrameTurns;
  /** Takes the place of an agent, unless another connection has it and lives. Resolves with the one that has it then. */
  claim(nodeId: string, connection: Connection): Promise<Connection>;
  /** Resolves when no handler of an earlier connection of the agent runs any more. */
  earlierSettled(nodeId: string): Promise<void>;
  /** Whether one more agent of an address may wait for approval, where need be in place of another one. */
  makeRoomForPending(address: string | null): boolean;
  /** Calls a handler where nobody could catch what it throws: that must not end the process. */
  notify(call: (handlers: TransportHandlers) => void): void;
  /** The handshake of the connection is done. */
  opened(connection: Connection): void;
  /** The connection is over. */
  ended(connection: Connection): void;
}
