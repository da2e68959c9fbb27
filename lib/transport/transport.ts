/** PORT: how the orchestrator talks to agents. */
import type { Clock } from "../clock.ts";
import type { Crypto, Signer } from "../crypto/crypto.ts";
import type { ErrorCode } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Epoch } from "../wire/epoch.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import type { MessageHead } from "../wire/message-head.ts";
import type { AgentMessage, OrchestratorMessage } from "../wire/messages.ts";
import type { ProvedAgent } from "../wire/orchestrator-handshake.ts";

/**
 * How the orchestrator talks to agents.
 *
 * A transport accepts connections, proves both sides (`createOrchestratorHandshake` of `fleetwright/ports`) and from then on
 * carries messages addressed by `node_id`. What every transport promises (each number is the `promise` of cases of the
 * conformance suite in `fleetwright/testing`):
 *
 *  1. `connected` is called only after the handshake, with the identity that the agent proved.
 *  2. Messages of one agent arrive in the order they were sent, none before `connected` returned, none after `disconnected`. What an agent
 *     sent before it hung up arrives, unless the handlers take longer than two seconds for it.
 *  3. The next message of an agent is handed over only after the handler of the one before has resolved.
 *  4. `send` rejects with `AGENT_OFFLINE` at once when no connection is there, with `PAYLOAD_TOO_LARGE` where the protocol does not carry so
 *     much, and never waits for the agent.
 *  5. A second connection with the same key is refused while the first lives, and `refused` says so, with both addresses. The first is
 *     asked for a sign of life; where none comes within two seconds it is ended, and the second takes its place.
 *  6. A message that breaks the protocol ends the connection with a reason, is reported to `refused` and reaches no handler.
 *  7. A peer that does not read never fills memory: past the send limit its connection is closed.
 *  8. `disconnect` and `stop` end connections and call `disconnected` once each; both may be called twice.
 *  9. A rejecting handler ends that one connection, nothing else.
 * 10. An agent that is silent longer than the protocol allows is disconnected.
 */
export interface Transport {
  /** Begins to accept agents. Where it rejects, it has let go of everything: nobody calls {@link stop} then. */
  start(context: TransportContext, handlers: TransportHandlers): Promise<void>;
  /** Ends every connection and accepts none any more; resolves when no handler runs any more, so no handler may wait for it. */
  stop(): Promise<void>;
  /**
   * Hands a message over for an agent. Resolved means sent, not received.
   *
   * A `status` message also changes what the transport lets through: a pending agent that is told `approved` may speak
   * from then on, on the same connection; one that is told anything else than what it was loses the connection.
   *
   * @throws {OrchestratorError} `AGENT_OFFLINE` when no connection is there.
   * @throws {OrchestratorError} `AGENT_NOT_APPROVED` for anything but a `status` while the agent is pending.
   * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` when the message is larger than the protocol carries (16 MiB of text).
   */
  send(nodeId: string, message: OrchestratorMessage): Promise<void>;
  /**
   * Hands a piece of a stream over for an agent, in one order with the messages; errors as for `send`.
   *
   * @param streamId - A UUID, e.g. of the terminal session.
   * @param data - At most 1 MiB less 33 bytes.
   */
  sendStream(nodeId: string, streamId: string, data: Uint8Array): Promise<void>;
  /** Whether the agent has a connection now. */
  isConnected(nodeId: string): boolean;
  /** Ends the agent's connection, if there is one. Does not wait for a handler in progress, so a handler may call it. */
  disconnect(nodeId: string, reason: string): Promise<void>;
}

/** What an agent has proved and said of itself during the handshake. */
export interface AgentIntroduction extends ProvedAgent {
  /** The address that the connection came from; null where there is none. */
  remote_address: string | null;
}

/**
 * What the orchestrator answers to an introduction. A pending agent is `connected` but may only wait until it is sent a
 * `status`; a rejected one is told so and let go, without `connected` or `refused`.
 */
export interface Admission {
  status: AgentStatus;
}

/** What the orchestrator does with agents that come, speak and go. */
export interface TransportHandlers {
  /** Decides about an agent that proved its key. Rejecting (an error) refuses the connection with that error's code. */
  admit(introduction: AgentIntroduction): Promise<Admission>;
  /** The agent is there and may be sent messages. */
  connected(introduction: AgentIntroduction, admission: Admission): Promise<void>;
  /**
   * Asked before a message of an approved agent is read, in the order of the messages: one that is not wanted is dropped, and costs no
   * more than its bytes. Rejecting ends the connection. Absent: every message is wanted.
   */
  isWanted?(nodeId: string, head: MessageHead): Promise<boolean>;
  /** An approved agent said something; it is valid in form but not to be trusted. Rejecting ends the connection. */
  message(nodeId: string, message: AgentMessage): Promise<void>;
  /** An approved agent sent a piece of a stream, e.g. of a terminal; in one order with its messages. */
  stream(nodeId: string, streamId: string, data: Uint8Array): Promise<void>;
  /** The connection is gone. Called once for each `connected`, after that has returned. */
  disconnected(nodeId: string, reason: string): void;
  /** A connection was refused or ended for breaking the protocol. `node_id` is null where nothing was proved yet. */
  refused(refusal: {
    node_id: string | null;
    remote_address: string | null;
    code: ErrorCode;
    message: string;
    /** With `AGENT_ALREADY_CONNECTED`: the address of the connection that lives. */
    connected_address?: string | null;
  }): void;
}

/** What a transport is given to work with. */
export interface TransportContext {
  clock: Clock;
  crypto: Crypto;
  logger: Logger;
  /** Signs as the orchestrator: the handshake, and every command. */
  signer: Signer;
  /** What agents are told that the time is, RFC 3339 in UTC: `not_after` of commands is by it. It never goes back. */
  orchestratorTime: () => string;
  /** Which life of its data the orchestrator leads, for agents to follow the newest. Absent or null: they are told none. */
  epoch?: () => Epoch | null;
  /** Whether an agent's public key, lower-case hex, is that of an approved agent, and so was found good. Absent: none is known. */
  isKnownKey?: (publicKey: string) => boolean;
}
