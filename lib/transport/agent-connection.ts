/**
 * One connection of an agent, seen from the orchestrator.
 *
 *   handshake --proved--> admitting --accepted--> open --> ended
 *
 * handshake: at most 10 s together with admitting (option); the frames of lib/wire, nothing else
 * admitting: an earlier connection of the agent is probed where there is one, and the orchestrator decides; a frame of the agent now
 *            breaks the protocol
 * open:      in presence; messages of the agent are handed over once `connected` has returned
 * ended:     from any state, once; `disconnected` follows where `connected` was called, after all that an agent that left had said
 */
import type { Timer } from "../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { toCloseReason } from "../wire/close-reason.ts";
import type { AgentMessage, OrchestratorMessage } from "../wire/messages.ts";
import {
  createOrchestratorHandshake,
  type OrchestratorHandshake,
  type ProvedAgent,
} from "../wire/orchestrator-handshake.ts";
import { Channel } from "./channel.ts";
import type { ConnectionHost } from "./connection-host.ts";
import { isPeersFault, type Ending } from "./ending.ts";
import { LifeProbe } from "./life-probe.ts";
import { closeCode, type FrameSocket } from "./socket.ts";
import type { Admission, AgentIntroduction } from "./transport.ts";

/** One connection of an agent. */
export class AgentConnection {
  readonly #socket: FrameSocket;
  readonly #host: ConnectionHost<AgentConnection>;
  /** Null when it is over: its keys and secrets are not kept. */
  #handshake: OrchestratorHandshake | null;
  #deadline: Timer | null;
  readonly #life: LifeProbe;
  #phase: "handshake" | "admitting" | "open" | "ended" = "handshake";
  #agent: ProvedAgent | null = null;
  #status: Admission["status"] | null = null;
  #channel: Channel<OrchestratorMessage, AgentMessage> | null = null;
  /** Whether `connected` has returned, so that `disconnected` is due. */
  #isAnnounced = false;
  #endedBecause = "";
  /** The connection that has the place of the agent, where this one did not get it. */
  #rival: { connected_address: string | null } | null = null;
  /** What the transport waits for before the agent may come again. */
  #work: Promise<void> = Promise.resolve();

  constructor(socket: FrameSocket, host: ConnectionHost<AgentConnection>) {
    this.#socket = socket;
    this.#host = host;
    const { crypto, signer, clock, isKnownKey } = host.context;
    const epoch = host.context.epoch?.() ?? undefined;
    const { tlsExporter } = socket;
    this.#handshake = createOrchestratorHandshake({ crypto, signer, epoch, tlsExporter, isKnownKey });
    this.#deadline = clock.setTimer(host.handshakeTimeoutMs, () =>
      this.#refuse(new OrchestratorError("AGENT_TIMEOUT", { message: "The handshake took too long." })),
    );
    this.#life = new LifeProbe({ socket, clock, isReading: () => this.#channel?.isReading ?? true });
    socket.listen({
      frame: (frame) => {
        this.#life.heard();
        this.#receive(frame);
      },
      closed: (code, reason) => {
        this.#channel?.left();
        this.#end({ code: null, message: `closed by the agent (${code}${reason && ` ${reason}`})` });
      },
    });
  }

  /** Null until the agent proved its key. */
  get nodeId(): string | null {
    return this.#agent?.node_id ?? null;
  }

  /** The address that it came from; null where there is none. */
  get remoteAddress(): string | null {
    return this.#socket.remoteAddress;
  }

  /** Whether the handshake is done and the connection lives. */
  get isOpen(): boolean {
    return this.#phase === "open";
  }

  /** Whether the handshake is still going on. */
  get isHandshaking(): boolean {
    return this.#phase === "handshake" || this.#phase === "admitting";
  }

  /** Whether the agent is connected and waits for approval. */
  get isPending(): boolean {
    return this.#phase === "open" && this.#status === "pending";
  }

  /** Sends a message; see {@link Transport.send}. */
  send(message: OrchestratorMessage): void {
    const channel = this.#openChannel(message.type);
    channel.send(message);
    if (message.type === "status") this.#changeStatus(channel, message.status);
  }

  /** Sends a piece of a stream. */
  sendStream(streamId: string, data: Uint8Array): void {
    this.#openChannel("stream").sendStream(streamId, data);
  }

  /** Whether the agent is still at the other end: false where nothing comes back for {@link probeTimeoutMs}, or the connection ends. */
  answers(): Promise<boolean> {
    return this.#life.ask();
  }

  /** Ends the connection at once: its agent does not answer, and would not take part in closing either. */
  giveWay(): void {
    this.#socket.destroy();
    this.#end({ code: "AGENT_TIMEOUT", message: "The agent connected anew, and this connection was dead." });
  }

  /** Ends the connection in order, and tells the agent in how many milliseconds to come again: 0 is at once, to another server. */
  sendAway(closeWith: number, reason: string, retryMs: number): void {
    this.#end({ code: null, message: reason, retryMs }, closeWith);
  }

  /** Ends the connection in order. */
  close(code: number, reason: string): void {
    this.#end({ code: null, message: reason }, code);
  }

  /** Resolves when every handler that was called for this connection is done. */
  async settled(): Promise<void> {
    await this.#work;
    await this.#channel?.settled();
  }

  #openChannel(kind: OrchestratorMessage["type"] | "stream"): Channel<OrchestratorMessage, AgentMessage> {
    if (this.#phase !== "open" || !this.#channel) throw new OrchestratorError("AGENT_OFFLINE");
    if (this.#status !== "approved" && kind !== "status") throw new OrchestratorError("AGENT_NOT_APPROVED");
    return this.#channel;
  }

  #changeStatus(channel: Channel<OrchestratorMessage, AgentMessage>, status: Admission["status"]): void {
    const wasApproved = this.#status === "approved";
    this.#status = status;
    channel.isRestricted = status !== "approved";
    // What the agent has sent meanwhile would now break the protocol without its fault.
    if (status === "rejected" || (wasApproved && status === "pending")) {
      this.#end({ code: null, message: `the agent is ${status} now` }, closeCode.refused);
    }
  }

  #receive(frame: Uint8Array | string): void {
    if (this.#phase === "open") {
      this.#channel?.receive(frame);
      return;
    }
    const handshake = this.#handshake;
    if (handshake === null) return;
    try {
      const step = handshake.receive(frame);
      if (step.kind === "send") {
        this.#socket.send(step.frame);
        return;
      }
      this.#agent = step.agent;
      this.#phase = "admitting";
      this.#work = this.#admit(handshake, step.agent).catch((error: unknown) => this.#refuse(error));
    } catch (error) {
      this.#refuse(error);
    }
  }

  async #admit(handshake: OrchestratorHandshake, agent: ProvedAgent): Promise<void> {
    if (this.#host.budgets.isSpent(agent.node_id)) {
      throw new OrchestratorError("RATE_LIMITED", { message: "The agent took more time than it may." });
    }
    const holder = await this.#host.claim(agent.node_id, this);
    if (this.#hasEnded()) return;
    if (holder !== this) {
      this.#rival = { connected_address: holder.remoteAddress };
      throw new OrchestratorError("AGENT_ALREADY_CONNECTED");
    }
    await this.#host.earlierSettled(agent.node_id);
    if (this.#hasEnded()) return;
    const introduction = { ...agent, remote_address: this.#socket.remoteAddress };
    const admission = await this.#host.handlers.admit(introduction);
    if (this.#hasEnded()) return;
    if (admission.status === "pending" && !this.#host.makeRoomForPending(this.remoteAddress)) {
      throw new OrchestratorError("RATE_LIMITED", { message: "Too many agents wait for approval." });
    }
    const accepted = handshake.accept(admission.status, this.#host.context.orchestratorTime());
    this.#leaveHandshake();
    await this.#accept(introduction, admission, accepted);
  }

  async #accept(
    introduction: AgentIntroduction,
    admission: Admission,
    { frame, session }: ReturnType<OrchestratorHandshake["accept"]>,
  ): Promise<void> {
    const { context, handlers, sendLimitBytes, budgets, reads, turns } = this.#host;
    this.#socket.send(frame);
    if (admission.status === "rejected") {
      this.#end({ code: null, message: "the agent is rejected" }, closeCode.refused);
      return;
    }
    const { node_id } = introduction;
    const channel = new Channel<OrchestratorMessage, AgentMessage>({
      socket: this.#socket,
      session,
      clock: context.clock,
      sendLimitBytes,
      reads,
      turns,
      budget: { isSpent: () => budgets.isSpent(node_id), spend: (work) => budgets.spend(node_id, work) },
      handlers: {
        isWanted: async (head) => (await handlers.isWanted?.(node_id, head)) ?? true,
        message: (message) => handlers.message(node_id, message),
        stream: (streamId, data) => handlers.stream(node_id, streamId, data),
        ended: (ending, cause) => this.#end(ending, undefined, cause),
      },
    });
    channel.isRestricted = admission.status !== "approved";
    this.#channel = channel;
    this.#status = admission.status;
    this.#phase = "open";
    this.#host.opened(this);
    await this.#announce(introduction, admission);
  }

  #leaveHandshake(): void {
    this.#deadline?.cancel();
    this.#deadline = null;
    this.#handshake = null;
  }

  async #announce(introduction: AgentIntroduction, admission: Admission): Promise<void> {
    try {
      await this.#host.handlers.connected(introduction, admission);
    } catch (error) {
      const ending = { code: "INTERNAL", message: "The connection could not be taken up." } as const;
      this.#end(ending, closeCode.internalError, error);
    }
    // It ended while `connected` ran: the two are never called in the other order, nor at the same time.
    if (this.#hasEnded()) return this.#tellGone();
    this.#isAnnounced = true;
    this.#channel?.open();
  }

  /** Ends a handshake and tells the agent why. */
  #refuse(error: unknown): void {
    if (!this.isHandshaking) return;
    const ending: Ending = isOrchestratorError(error)
      ? { code: error.code, message: error.message }
      : { code: "INTERNAL", message: "The connection could not be taken up." };
    if (this.#handshake) this.#socket.send(this.#handshake.refuse(ending.code ?? "INTERNAL", ending.message));
    this.#end(ending, isPeersFault(ending.code) ? closeCode.protocolError : closeCode.refused, error);
  }

  /** @param closeWith - How to close the socket; absent where that is done. */
  #end(ending: Ending, closeWith?: number, cause?: unknown): void {
    if (this.#phase === "ended") return;
    const { nodeId } = this;
    const { code, message, retryMs } = ending;
    const isRefusal = code !== null && (this.isHandshaking || isPeersFault(code));
    this.#phase = "ended";
    this.#endedBecause = code === null ? message : `${code}: ${message}`;
    this.#leaveHandshake();
    this.#life.over();
    // Whoever left by itself is heard to the end.
    const hasLeft = code === null && closeWith === undefined;
    const finished = (hasLeft ? this.#channel?.finish() : this.#channel?.end()) ?? null;
    if (finished) this.#work = finished.then(() => this.#tellGone());
    if (closeWith !== undefined) {
      const reason = retryMs === undefined ? (code ?? "") : toCloseReason(code ?? "UNAVAILABLE", retryMs);
      this.#socket.close(closeWith, reason);
    }
    this.#host.ended(this);
    if (cause !== undefined && !isOrchestratorError(cause)) {
      const { logger } = this.#host.context;
      logger.error("A handler failed; the agent's connection is ended.", { node_id: nodeId, error: cause });
    }
    if (isRefusal) {
      const refusal = { node_id: nodeId, remote_address: this.remoteAddress, code, message };
      this.#host.notify((handlers) => handlers.refused({ ...refusal, ...this.#rival }));
    }
    if (this.#isAnnounced && !finished) this.#tellGone();
  }

  #tellGone(): void {
    const { nodeId } = this;
    if (nodeId !== null) this.#host.notify((handlers) => handlers.disconnected(nodeId, this.#endedBecause));
  }

  /** In a method, because an `await` in between may have changed it. */
  #hasEnded(): boolean {
    return this.#phase === "ended";
  }
}
