/** The transport over any {@link FrameSocket}: whoever listens (an HTTP server, a test) hands each new connection over. */
import { OrchestratorError } from "../errors.ts";
import { FairPlaces } from "../internal/fair-places.ts";
import { placeOfAddress } from "../internal/network.ts";
import { handshakeTimeoutMs } from "../wire/limits.ts";
import type { OrchestratorMessage } from "../wire/messages.ts";
import { AgentConnection, type ConnectionHost } from "./agent-connection.ts";
import { defaultSendLimitBytes } from "./channel.ts";
import { closeCode, type FrameSocket } from "./socket.ts";
import { TimeBudgets } from "./time-budget.ts";
import type { Transport, TransportContext, TransportHandlers } from "./transport.ts";

/** Limits of a {@link SocketTransport}. */
export interface SocketTransportOptions {
  /** Bytes that may wait for an agent that does not read; past it the connection ends. Default 32 MiB. */
  sendLimitBytes?: number;
  /** Agents that may be connected and wait for approval; past it, one from where most wait gives way. Default 100. */
  maxPendingAgents?: number;
  /** Handshakes at one time; more connections are turned away and come again later. Default 256: each may hold a frame of 1 MiB. */
  maxHandshakes?: number;
  /** Of these, handshakes of one address (of IPv6: one /64), so that nobody holds all the places. Agents behind one proxy share one. Default 64. */
  maxHandshakesPerAddress?: number;
  /** How long a handshake may take, milliseconds, the decision about the agent included. Default 10_000. */
  handshakeTimeoutMs?: number;
  /** Time that one agent may take of the orchestrator in a second, milliseconds; past what it saved its connection ends. Default 100. */
  agentTimePerSecondMs?: number;
  /** Time that an agent can save up, milliseconds. Default 2_000. */
  agentTimeSavedMs?: number;
}

/** Speaks the agent protocol over sockets that others accept. */
export class SocketTransport implements Transport {
  readonly #options: Required<SocketTransportOptions>;
  #host: ConnectionHost | null = null;
  readonly #connections = new Set<AgentConnection>();
  readonly #handshaking = new Set<AgentConnection>();
  /** The one connection of each agent that has proved its key, from then on. */
  readonly #agents = new Map<string, AgentConnection>();
  /** The agents that are connected and wait for approval. */
  readonly #pending = new FairPlaces();
  /** Connections that are over while a handler still runs for them. */
  readonly #settling = new Map<string, Promise<void>>();

  constructor(options: SocketTransportOptions = {}) {
    this.#options = {
      sendLimitBytes: options.sendLimitBytes ?? defaultSendLimitBytes,
      maxPendingAgents: options.maxPendingAgents ?? 100,
      maxHandshakes: options.maxHandshakes ?? 256,
      maxHandshakesPerAddress: options.maxHandshakesPerAddress ?? 64,
      handshakeTimeoutMs: options.handshakeTimeoutMs ?? handshakeTimeoutMs,
      agentTimePerSecondMs: options.agentTimePerSecondMs ?? 100,
      agentTimeSavedMs: options.agentTimeSavedMs ?? 2_000,
    };
  }

  /** Begins to take connections that are handed to {@link SocketTransport.accept}. */
  async start(context: TransportContext, handlers: TransportHandlers): Promise<void> {
    if (this.#host) throw new OrchestratorError("INTERNAL", { message: "The transport is started already." });
    const { sendLimitBytes, maxPendingAgents, agentTimePerSecondMs, agentTimeSavedMs } = this.#options;
    const time = { perSecondMs: agentTimePerSecondMs, savedMs: agentTimeSavedMs };
    this.#host = {
      context,
      handlers,
      sendLimitBytes,
      handshakeTimeoutMs: this.#options.handshakeTimeoutMs,
      budgets: new TimeBudgets(context.clock, time),
      claim: (nodeId, connection) => this.#claim(nodeId, connection),
      earlierSettled: async (nodeId) => this.#settling.get(nodeId),
      makeRoomForPending: (address) => this.#makeRoomForPending(address, maxPendingAgents),
      opened: (connection) => this.#opened(connection),
      ended: (connection) => this.#release(connection),
    };
  }

  /** Ends every connection and accepts none any more; resolves when no handler runs any more. */
  async stop(): Promise<void> {
    this.#host = null;
    for (const connection of this.#connections)
      connection.close(closeCode.goingAway, "the orchestrator stops");
    await Promise.all(this.#settling.values());
  }

  /** Takes over a connection. Never throws; a connection that is not wanted is closed. */
  accept(socket: FrameSocket): void {
    if (!this.#host) {
      socket.close(closeCode.goingAway, "UNAVAILABLE");
      return;
    }
    // Turned away without a word: an answer, or a record, for each is what a flood wants.
    if (!this.#hasRoomFor(socket.remoteAddress)) {
      socket.close(closeCode.tryAgainLater, "RATE_LIMITED");
      return;
    }
    const connection = new AgentConnection(socket, this.#host);
    this.#connections.add(connection);
    this.#handshaking.add(connection);
  }

  #hasRoomFor(address: string | null): boolean {
    const { maxHandshakes, maxHandshakesPerAddress } = this.#options;
    if (this.#handshaking.size >= maxHandshakes) return false;
    if (address === null) return true;
    const place = placeOfAddress(address);
    let ofPlace = 0;
    for (const { remoteAddress } of this.#handshaking)
      if (remoteAddress !== null && placeOfAddress(remoteAddress) === place) ofPlace += 1;
    return ofPlace < maxHandshakesPerAddress;
  }

  async send(nodeId: string, message: OrchestratorMessage): Promise<void> {
    this.#openConnection(nodeId).send(message);
  }

  async sendStream(nodeId: string, streamId: string, data: Uint8Array): Promise<void> {
    this.#openConnection(nodeId).sendStream(streamId, data);
  }

  isConnected(nodeId: string): boolean {
    return this.#agents.get(nodeId)?.isOpen ?? false;
  }

  async disconnect(nodeId: string, reason: string): Promise<void> {
    this.#agents.get(nodeId)?.close(closeCode.normal, reason);
  }

  #openConnection(nodeId: string): AgentConnection {
    const connection = this.#agents.get(nodeId);
    if (!connection?.isOpen) throw new OrchestratorError("AGENT_OFFLINE");
    return connection;
  }

  #claim(nodeId: string, connection: AgentConnection): boolean {
    if (this.#agents.has(nodeId)) return false;
    this.#agents.set(nodeId, connection);
    return true;
  }

  #release(connection: AgentConnection): void {
    this.#connections.delete(connection);
    this.#handshaking.delete(connection);
    const { nodeId } = connection;
    if (nodeId === null || this.#agents.get(nodeId) !== connection) return;
    this.#agents.delete(nodeId);
    this.#pending.delete(nodeId);
    const settled = Promise.all([this.#settling.get(nodeId), connection.settled()]).then(() => {
      if (this.#settling.get(nodeId) === settled) this.#settling.delete(nodeId);
    });
    this.#settling.set(nodeId, settled);
  }

  #opened(connection: AgentConnection): void {
    this.#handshaking.delete(connection);
    const { nodeId, remoteAddress, isPending } = connection;
    if (isPending && nodeId !== null)
      this.#pending.set(nodeId, remoteAddress, this.#host?.context.clock.now() ?? 0);
  }

  /** Whether one more agent of an address may wait: where all places are taken, one from where most wait gives way. */
  #makeRoomForPending(address: string | null, places: number): boolean {
    if (this.#pending.size < places) return true;
    // Some were decided about since they came.
    for (const nodeId of this.#pending.ids())
      if (this.#agents.get(nodeId)?.isPending !== true) this.#pending.delete(nodeId);
    if (this.#pending.size < places) return true;
    const nodeId = this.#pending.giveWay(address, () => false);
    if (nodeId === null) return false;
    this.#agents.get(nodeId)?.close(closeCode.tryAgainLater, "RATE_LIMITED");
    return true;
  }
}
