/** The transport over any {@link FrameSocket}: whoever listens (an HTTP server, a test) hands each new connection over. */
import { OrchestratorError } from "../errors.ts";
import { checkOptions, type OptionTable, withDefaults } from "../internal/check-options.ts";
import { FairSlots } from "../internal/fair-slots.ts";
import { sourceOfAddress } from "../internal/network.ts";
import { wholeNumber } from "../internal/option-rules.ts";
import { handshakeOptionTable } from "../option-table.ts";
import { toCloseReason } from "../wire/close-reason.ts";
import { handshakeTimeoutMs } from "../wire/limits.ts";
import type { OrchestratorMessage } from "../wire/messages.ts";
import { AgentConnection } from "./agent-connection.ts";
import { defaultSendLimitBytes } from "./channel.ts";
import type { ConnectionHost } from "./connection-host.ts";
import { FrameTurns } from "./frame-turns.ts";
import { HandshakePlaces } from "./handshake-places.ts";
import { LongReads } from "./long-reads.ts";
import { ReturnSlots } from "./return-slots.ts";
import { closeCode, type FrameSocket } from "./socket.ts";
import { spread, type Spread } from "./spread.ts";
import { TimeBudgets } from "./time-budget.ts";
import type { Transport, TransportContext, TransportHandlers } from "./transport.ts";

/** Limits of a {@link SocketTransport}. What is out of range is refused when it is made: `OPTIONS_INVALID`. */
export interface SocketTransportOptions {
  /** Bytes that may wait for an agent that does not read, 65,536 to 4,294,967,296; past it the connection ends. Default 32 MiB. */
  sendLimitBytes?: number;
  /** Agents that may be connected and wait for approval, 1 to 1,000,000; past it, one from where most wait gives way. Default 100. */
  maxPendingAgents?: number;
  /**
   * Handshakes at one time, 1 to 1,000,000; further agents are turned away and told when to try again, or take the place of one that
   * goes on for 3 s or of a network that holds more than a quarter. Each may hold a frame of 1 MiB. Default 256.
   */
  maxHandshakes?: number;
  /**
   * Of these, handshakes from one address (IPv6: one /64), 1 to 1,000,000, so that nobody holds all the slots. Agents behind one proxy
   * that is not trusted share one. Default 64.
   */
  maxHandshakesPerAddress?: number;
  /** Milliseconds that a handshake may take, the decision about the agent included, 100 to 600,000. Default 10,000. */
  handshakeTimeoutMs?: number;
  /**
   * Milliseconds of the orchestrator that one agent may take in a second, 1 to 1,000; past what it saved its connection ends.
   * Default 100.
   */
  agentTimePerSecondMs?: number;
  /** Milliseconds that an agent can save up, 1 to 600,000. Default 2,000. */
  agentTimeSavedMs?: number;
}

/** What each option may be. */
export const socketTransportOptions: OptionTable<Required<SocketTransportOptions>> = {
  sendLimitBytes: {
    rule: wholeNumber({ from: 65_536, to: 2 ** 32 }),
    default: defaultSendLimitBytes,
    defaultText: "32 MiB",
  },
  maxPendingAgents: { rule: wholeNumber({ from: 1, to: 1_000_000 }), default: 100 },
  ...handshakeOptionTable,
  handshakeTimeoutMs: { rule: wholeNumber({ from: 100, to: 600_000 }), default: handshakeTimeoutMs },
  agentTimePerSecondMs: { rule: wholeNumber({ from: 1, to: 1_000 }), default: 100 },
  agentTimeSavedMs: { rule: wholeNumber({ from: 1, to: 600_000 }), default: 2_000 },
};

/** When an agent tries again that was led to a server which is letting its agents go, milliseconds. */
const elsewhereMs = 1_000;

/** Speaks the agent protocol over sockets that others accept. */
export class SocketTransport implements Transport {
  readonly #options: Required<SocketTransportOptions>;
  #host: ConnectionHost<AgentConnection> | null = null;
  #returnSlots: ReturnSlots | null = null;
  #drain: Spread | null = null;
  readonly #connections = new Set<AgentConnection>();
  readonly #handshakes: HandshakePlaces<AgentConnection>;
  /** What {@link ReturnSlots.began} said of each of these. */
  readonly #begun = new Map<AgentConnection, number>();
  /** The one connection of each agent that has proved its key, from then on. */
  readonly #agents = new Map<string, AgentConnection>();
  /** The agents that are connected and wait for approval. */
  readonly #pending = new FairSlots();
  /** Connections that are over while a handler still runs for them. */
  readonly #settling = new Map<string, Promise<void>>();

  /** @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options. */
  constructor(options: SocketTransportOptions = {}) {
    checkOptions(options, socketTransportOptions, { of: new.target.name });
    this.#options = withDefaults(options, socketTransportOptions);
    this.#handshakes = new HandshakePlaces(this.#options.maxHandshakes);
  }

  /** Begins to take connections that are handed to {@link SocketTransport.accept}. */
  async start(context: TransportContext, handlers: TransportHandlers): Promise<void> {
    if (this.#host) throw new OrchestratorError("INTERNAL", { message: "The transport is started already." });
    const { sendLimitBytes, maxPendingAgents, agentTimePerSecondMs, agentTimeSavedMs } = this.#options;
    const { maxHandshakes, maxHandshakesPerAddress } = this.#options;
    const time = { perSecondMs: agentTimePerSecondMs, savedMs: agentTimeSavedMs };
    this.#returnSlots = new ReturnSlots(context.clock, Math.min(maxHandshakes, maxHandshakesPerAddress));
    this.#host = {
      context,
      handlers,
      sendLimitBytes,
      handshakeTimeoutMs: this.#options.handshakeTimeoutMs,
      budgets: new TimeBudgets(context.clock, time),
      reads: new LongReads(),
      turns: new FrameTurns(context.clock),
      claim: (nodeId, connection) => this.#claim(nodeId, connection),
      earlierSettled: async (nodeId) => this.#settling.get(nodeId),
      makeRoomForPending: (address) => this.#makeRoomForPending(address, maxPendingAgents),
      notify(call) {
        try {
          call(handlers);
        } catch (error) {
          context.logger.error("A handler of the transport threw.", { error });
        }
      },
      opened: (connection) => this.#opened(connection),
      ended: (connection) => this.#release(connection),
    };
  }

  /** Ends every connection and accepts none any more; resolves when no handler runs any more. */
  async stop(): Promise<void> {
    this.#host = null;
    this.#drain?.end();
    this.#drain = null;
    for (const connection of this.#connections)
      connection.close(closeCode.goingAway, "the orchestrator stops");
    await Promise.all(this.#settling.values());
  }

  /**
   * Lets all agents go, spread evenly over a time, and takes none any more: each is told to come again at once, which is for fleets
   * with another server behind the same address. Those that come here meanwhile are told to come again in a second. What runs on their
   * machines goes on there. Resolves when the last has gone, or the transport is stopped.
   *
   * @param overMs - Milliseconds, from 0.
   */
  async drain(overMs: number): Promise<void> {
    if (!this.#host || this.#drain) return this.#drain?.done;
    const letGo = (connection: AgentConnection): void =>
      connection.sendAway(closeCode.goingAway, "the orchestrator stops", 0);
    const open = [...this.#connections].filter(({ isOpen }) => isOpen);
    const { clock } = this.#host.context;
    this.#drain = spread(open, { clock, overMs, each: letGo });
    for (const connection of this.#handshakes.holders()) letGo(connection);
    await this.#drain.done;
  }

  /** Takes over a connection. Never throws; a connection that is not wanted is closed. */
  accept(socket: FrameSocket): void {
    if (!this.#host) {
      socket.close(closeCode.goingAway, "UNAVAILABLE");
      return;
    }
    if (this.#drain) {
      socket.close(closeCode.goingAway, toCloseReason("UNAVAILABLE", elsewhereMs));
      return;
    }
    // Turned away with no more than when to come again: an answer, or a record, for each is what a flood wants.
    const { remoteAddress } = socket;
    if (!this.#hasRoom(this.#host, remoteAddress)) {
      socket.close(closeCode.tryAgainLater, toCloseReason("RATE_LIMITED", this.#retryMs(remoteAddress)));
      return;
    }
    const connection = new AgentConnection(socket, this.#host);
    this.#connections.add(connection);
    this.#handshakes.take(connection, remoteAddress, this.#host.context.clock.monotonic());
    this.#begun.set(connection, this.#returnSlots?.began() ?? 0);
  }

  /** Whether there is room for a handshake from an address: where all places are taken, another one may have to give way. */
  #hasRoom({ context }: ConnectionHost<AgentConnection>, address: string | null): boolean {
    if (this.#handshakes.countOf(address) >= this.#options.maxHandshakesPerAddress) return false;
    if (!this.#handshakes.isFull) return true;
    const other = this.#handshakes.giveWay(address, context.clock.monotonic());
    other?.sendAway(closeCode.tryAgainLater, "its place was needed", this.#retryMs(other.remoteAddress));
    return other !== null;
  }

  /** When one of an address is to come again, milliseconds. */
  #retryMs(address: string | null): number {
    const { isFull, size } = this.#handshakes;
    const source = address === null ? "" : sourceOfAddress(address);
    const share = Math.max(1, this.#handshakes.countOf(address)) / size;
    return this.#returnSlots?.reserve({ source, share, isFull }) ?? 0;
  }

  #endHandshake(connection: AgentConnection): void {
    if (!this.#handshakes.free(connection)) return;
    const begun = this.#begun.get(connection) ?? 0;
    this.#begun.delete(connection);
    if (connection.nodeId === null) this.#returnSlots?.gaveUp(begun);
    else this.#returnSlots?.ended();
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

  async #claim(nodeId: string, connection: AgentConnection): Promise<AgentConnection> {
    const holder = this.#agents.get(nodeId);
    if (holder) {
      if (await holder.answers()) return holder;
      // Also where the newer one has left meanwhile: it will not be the last.
      holder.giveWay();
      // Others may have waited for the same answer, and the first of them has the place.
      const first = this.#agents.get(nodeId);
      if (first) return first;
      if (!connection.isHandshaking) return connection;
    }
    this.#agents.set(nodeId, connection);
    return connection;
  }

  #release(connection: AgentConnection): void {
    this.#connections.delete(connection);
    this.#endHandshake(connection);
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
    this.#endHandshake(connection);
    const { nodeId, remoteAddress, isPending } = connection;
    if (isPending && nodeId !== null)
      this.#pending.set(nodeId, remoteAddress, this.#host?.context.clock.now() ?? 0);
  }

  /** Whether one more agent of an address may wait: where all slots are taken, one from where most wait gives way. */
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
