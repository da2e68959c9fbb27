/** A transport of one's own over any sockets: the handshake and the session are the package's, the rest is written here. */
import { isOrchestratorError, OrchestratorError } from "fleetwright/errors";
import {
  closeCode,
  createOrchestratorHandshake,
  handshakeTimeoutMs,
  heartbeatIntervalMs,
  pingFrameBytes,
  silenceLimitMs,
  type Admission,
  type AgentIntroduction,
  type AgentStatus,
  type ErrorCode,
  type FrameSocket,
  type Opened,
  type OrchestratorHandshake,
  type OrchestratorMessage,
  type OrchestratorSession,
  type Timer,
  type Transport,
  type TransportContext,
  type TransportHandlers,
} from "fleetwright/ports";

export interface OwnTransportOptions {
  sendLimitBytes: number;
  maxPendingAgents: number;
}

export class OwnTransport implements Transport {
  readonly options: OwnTransportOptions;
  readonly agents = new Map<string, Connection>();
  readonly #connections = new Set<Connection>();
  #started: { context: TransportContext; handlers: TransportHandlers } | null = null;

  constructor(options: OwnTransportOptions) {
    this.options = options;
  }

  async start(context: TransportContext, handlers: TransportHandlers): Promise<void> {
    this.#started = { context, handlers };
  }

  async stop(): Promise<void> {
    this.#started = null;
    for (const connection of this.#connections) connection.end(closeCode.goingAway, null, "it stops");
    await Promise.all([...this.#connections].map((connection) => connection.work));
  }

  accept(socket: FrameSocket): void {
    if (!this.#started) return socket.close(closeCode.goingAway, "UNAVAILABLE");
    const { context, handlers } = this.#started;
    const connection: Connection = new Connection(socket, { context, handlers, transport: this });
    this.#connections.add(connection);
  }

  async send(nodeId: string, message: OrchestratorMessage): Promise<void> {
    this.#open(nodeId, message.type).send(message);
  }

  async sendStream(nodeId: string, streamId: string, data: Uint8Array): Promise<void> {
    this.#open(nodeId, "stream").sendStream(streamId, data);
  }

  isConnected(nodeId: string): boolean {
    return (this.agents.get(nodeId)?.session ?? null) !== null;
  }

  async disconnect(nodeId: string, reason: string): Promise<void> {
    this.agents.get(nodeId)?.end(closeCode.normal, null, reason);
  }

  /** The connection is over: when none of its handlers runs any more, its agent may come again. */
  over(connection: Connection): void {
    void connection.work.finally(() => this.#connections.delete(connection));
  }

  /** Takes the place of an agent, where no other connection of it gives a sign of life; else the other is returned. */
  async claim(nodeId: string, connection: Connection): Promise<Connection | null> {
    const holder = this.agents.get(nodeId);
    if (holder && !(await holder.isDead())) return holder;
    holder?.cut("its agent came again");
    const first = this.agents.get(nodeId);
    if (!first && !connection.isOver) this.agents.set(nodeId, connection);
    return first ?? null;
  }

  /** Resolves when the earlier connections of an agent have nothing to do any more. */
  async earlierOver(connection: Connection): Promise<void> {
    const { nodeId } = connection;
    const earlier = [...this.#connections].filter((each) => each !== connection && each.nodeId === nodeId);
    await Promise.all(earlier.map(({ work }) => work));
  }

  #open(nodeId: string, type: OrchestratorMessage["type"] | "stream"): Connection {
    const connection = this.agents.get(nodeId);
    if (!connection?.session) throw new OrchestratorError("AGENT_OFFLINE");
    if (connection.status !== "approved" && type !== "status")
      throw new OrchestratorError("AGENT_NOT_APPROVED");
    return connection;
  }
}

interface Surroundings {
  context: TransportContext;
  handlers: TransportHandlers;
  transport: OwnTransport;
}

class Connection {
  nodeId: string | null = null;
  status: AgentStatus | null = null;
  /** Null before the handshake is done and after the end. */
  session: OrchestratorSession | null = null;
  /** What runs for it, one after the other. */
  work: Promise<void> = Promise.resolve();
  readonly #socket: FrameSocket;
  readonly #around: Surroundings;
  readonly #handshake: OrchestratorHandshake;
  #timer: Timer;
  #heardAt = 0;
  #waiting = 0;
  #isOver = false;
  /** Whether the agent left by itself, and what it had said is still to be handed over. */
  #isHeardOut = false;
  #isAnnounced = false;
  #isAdmitting = false;
  /** Who has its place. */
  #rival: Connection | null = null;
  #asking: Promise<boolean> | null = null;
  #answered = (): void => {};

  constructor(socket: FrameSocket, around: Surroundings) {
    const { crypto, signer, clock, epoch } = around.context;
    this.#socket = socket;
    this.#around = around;
    const { tlsExporter } = socket;
    this.#handshake = createOrchestratorHandshake({
      crypto,
      signer,
      tlsExporter,
      epoch: epoch?.() ?? undefined,
    });
    this.#timer = clock.setTimer(handshakeTimeoutMs, () =>
      this.#refuse(new OrchestratorError("AGENT_TIMEOUT")),
    );
    socket.listen({
      frame: (frame) => this.#receive(frame),
      closed: () => this.end(null, null, "the agent left"),
    });
  }

  send(message: OrchestratorMessage): void {
    for (const frame of this.session?.encode(message) ?? []) this.#write(frame);
    if (!this.session) throw new OrchestratorError("AGENT_OFFLINE");
    if (message.type !== "status") return;
    const was = this.status;
    this.status = message.status;
    const goes = message.status === "rejected" || (was === "approved" && message.status === "pending");
    if (goes) this.end(closeCode.refused, null, `it is ${message.status}`);
  }

  sendStream(streamId: string, data: Uint8Array): void {
    if (this.session) this.#write(this.session.encodeStream(streamId, data));
    if (!this.session) throw new OrchestratorError("AGENT_OFFLINE");
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether the peer gives no sign of life within two seconds. */
  isDead(): Promise<boolean> {
    this.#asking ??= new Promise<boolean>((resolve) => {
      const timer = this.#around.context.clock.setTimer(2_000, () => resolve(true));
      this.#answered = () => {
        timer.cancel();
        resolve(this.#isOver);
      };
      void this.#socket.probe().then(() => this.#answered());
    }).finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** @param close - How to close the socket; null where that is done. */
  end(close: number | null, code: ErrorCode | null, message: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { handlers, transport } = this.#around;
    const breaks = code === "PROTOCOL_ERROR" || code === "SIGNATURE_INVALID";
    if (code !== null && (!this.session || breaks)) {
      const { remoteAddress: remote_address } = this.#socket;
      const connected = this.#rival && { connected_address: this.#rival.#socket.remoteAddress };
      handlers.refused({ node_id: this.nodeId, remote_address, code, message, ...connected });
    }
    this.#timer.cancel();
    this.#answered();
    this.session = null;
    if (close !== null) this.#socket.close(close, code ?? "");
    const { nodeId } = this;
    if (nodeId !== null && transport.agents.get(nodeId) === this) transport.agents.delete(nodeId);
    if (nodeId !== null && this.#isAnnounced) {
      this.#isHeardOut = close === null && code === null;
      const tell = (): void => handlers.disconnected(nodeId, message);
      if (this.#isHeardOut) this.work = this.work.then(tell);
      else tell();
    }
    transport.over(this);
  }

  #receive(frame: Uint8Array | string): void {
    if (this.#isOver) return;
    this.#answered();
    try {
      if (this.session) return this.#open(this.session, frame);
      if (this.#isAdmitting) throw new OrchestratorError("PROTOCOL_ERROR");
      const step = this.#handshake.receive(frame);
      if (step.kind === "send") return this.#socket.send(step.frame);
      this.#isAdmitting = true;
      this.work = this.#admit({ ...step.agent, remote_address: this.#socket.remoteAddress });
    } catch (error) {
      this.#refuse(error);
    }
  }

  #open(session: OrchestratorSession, frame: Uint8Array | string): void {
    if (this.status !== "approved" && frame.length !== pingFrameBytes)
      throw new OrchestratorError("PROTOCOL_ERROR");
    this.#heardAt = this.#around.context.clock.monotonic();
    const opened = session.open(frame);
    if (!opened || opened.kind === "ping") return;
    this.#waiting += 1;
    if (this.#waiting > 100) this.#socket.pause();
    this.work = this.work.then(() => this.#handle(session, opened));
  }

  async #handle(session: OrchestratorSession, opened: Exclude<Opened, { kind: "ping" }>): Promise<void> {
    const { handlers } = this.#around;
    const { nodeId } = this;
    if ((this.#isOver && !this.#isHeardOut) || nodeId === null) return;
    try {
      if (opened.kind === "stream") await handlers.stream(nodeId, opened.streamId, opened.data);
      else if ((await handlers.isWanted?.(nodeId, opened.head)) ?? true) {
        await handlers.message(nodeId, session.read(opened));
      }
    } catch (error) {
      this.#isHeardOut = false;
      this.#refuse(error);
    }
    this.#waiting -= 1;
    if (this.#waiting === 0) this.#socket.resume();
  }

  async #admit(introduction: AgentIntroduction): Promise<void> {
    const { transport, handlers } = this.#around;
    try {
      this.nodeId = introduction.node_id;
      this.#rival = await transport.claim(this.nodeId, this);
      if (this.#isOver) return;
      if (this.#rival) throw new OrchestratorError("AGENT_ALREADY_CONNECTED");
      await transport.earlierOver(this);
      if (this.#isOver) return;
      const admission = await handlers.admit(introduction);
      if (!this.#isOver) await this.#accept(introduction, admission);
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #accept(introduction: AgentIntroduction, admission: Admission): Promise<void> {
    const { transport, handlers, context } = this.#around;
    const pending = [...transport.agents.values()].filter(({ status }) => status === "pending");
    if (admission.status === "pending" && pending.length >= transport.options.maxPendingAgents) {
      throw new OrchestratorError("RATE_LIMITED");
    }
    const { frame, session } = this.#handshake.accept(admission.status, context.orchestratorTime());
    this.#socket.send(frame);
    if (admission.status === "rejected") return this.end(closeCode.refused, null, "it is rejected");
    this.status = admission.status;
    this.session = session;
    this.#heardAt = context.clock.monotonic();
    this.#timer.cancel();
    this.#beatLater();
    try {
      await handlers.connected(introduction, admission);
    } catch (error) {
      this.#refuse(error);
    }
    if (this.#isOver) handlers.disconnected(introduction.node_id, "it ended while it was taken up");
    this.#isAnnounced = true;
  }

  #beatLater(): void {
    const { clock } = this.#around.context;
    this.#timer = clock.setTimer(heartbeatIntervalMs, () => {
      if (clock.monotonic() - this.#heardAt >= silenceLimitMs) return this.cut("it is silent");
      this.#beatLater();
      if (this.session) this.#write(this.session.encodePing());
    });
  }

  #write(frame: Uint8Array): void {
    const { sendLimitBytes } = this.#around.transport.options;
    if (this.#socket.bufferedBytes + frame.length > sendLimitBytes) this.cut("it does not read");
    else if (!this.#isOver) this.#socket.send(frame);
  }

  /** Ends it without a word. */
  cut(message: string): void {
    this.#socket.destroy();
    this.end(null, "AGENT_TIMEOUT", message);
  }

  #refuse(error: unknown): void {
    if (this.#isOver) return;
    const code = isOrchestratorError(error) ? error.code : "INTERNAL";
    if (!this.session) this.#socket.send(this.#handshake.refuse(code, code));
    this.end(code === "PROTOCOL_ERROR" ? closeCode.protocolError : closeCode.refused, code, code);
  }
}
