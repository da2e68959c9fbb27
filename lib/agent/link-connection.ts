/**
 * One connection of an agent to its orchestrator.
 *
 *   handshaking --accepted--> up --> ended
 *
 * handshaking: at most 10 s, then the connection is given up
 * up:          commands are handed over, one at a time, once the orchestrator's key is stored
 * ended:       from any state, once; `ended` resolves
 */
import type { Clock } from "../clock.ts";
import type { Crypto, Signer } from "../crypto/crypto.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { Channel, defaultSendLimitBytes } from "../transport/channel.ts";
import type { Ending } from "../transport/ending.ts";
import { FrameTurns } from "../transport/frame-turns.ts";
import { LongReads } from "../transport/long-reads.ts";
import { closeCode, type FrameSocket } from "../transport/socket.ts";
import {
  createAgentHandshake,
  type AgentDescription,
  type AgentHandshakeStep,
} from "../wire/agent-handshake.ts";
import { retryMsOf } from "../wire/close-reason.ts";
import type { Epoch } from "../wire/epoch.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import { handshakeTimeoutMs } from "../wire/limits.ts";
import type { AgentMessage, OrchestratorMessage } from "../wire/messages.ts";

/** Where an agent keeps the key of the orchestrator that it belongs to. */
export interface OrchestratorPin {
  /** The key that the orchestrator must prove, 32 bytes; null trusts the first one that answers. */
  get(): Uint8Array | null;
  /** Keeps the key for good. Called with each connection, after the orchestrator has proved it and before any command is handed over. */
  set(key: Uint8Array): Promise<void>;
}

/** Where an agent keeps which life of its orchestrator it follows. */
export interface EpochMemory {
  /** The newest epoch that was seen of the orchestrator with this key; null where none was. */
  get(orchestratorKey: Uint8Array): Epoch | null;
  /**
   * Called with the epoch of each connection, after the orchestrator has proved its key and before any command is handed over.
   *
   * @throws {OrchestratorError} `ORCHESTRATOR_SUPERSEDED` for one that is older than the newest.
   */
  follow(orchestratorKey: Uint8Array, epoch: Epoch): void;
}

/** What an agent does when its orchestrator says something. */
export interface AgentLinkHandlers {
  /**
   * The orchestrator took the agent in. `orchestratorTime` (RFC 3339) tells how far the machine's clock is off, `hasSentToken` whether the
   * enrolment token was sent.
   */
  accepted(status: AgentStatus, orchestratorTime: string, answer: { hasSentToken: boolean }): void;
  /** The agent was approved or rejected while it was connected. `hasSentToken` is as it was when it was taken in. */
  statusChanged(status: AgentStatus, answer: { hasSentToken: boolean }): void;
  /**
   * A command, signed by the pinned orchestrator for this agent; the next waits until this resolves, so long work is
   * begun here, not done. Whether `not_after` is past is the handler's to check. Rejecting ends the connection.
   */
  command(message: Exclude<OrchestratorMessage, { type: "status" }>): Promise<void>;
  /** A piece of a stream, in one order with the commands. */
  stream(streamId: string, data: Uint8Array): Promise<void>;
  /** A connection, or the attempt to make one, has ended; the next attempt follows by itself. */
  down(ending: Ending): void;
}

/** What a connection of an agent is made with. */
export interface LinkConnectionOptions {
  clock: Clock;
  crypto: Crypto;
  /** The agent's keys. */
  identity: { signer: Signer; boxPublicKey: Uint8Array };
  pin: OrchestratorPin;
  /** Absent: every epoch is obeyed. */
  epochs?: EpochMemory;
  /** The enrolment token to bring with the next connection; null where there is none. Absent: there is never one. */
  enrolmentToken?: () => string | null;
  description: AgentDescription;
  handlers: AgentLinkHandlers;
}

/** One connection of an agent. */
export class LinkConnection {
  /** Resolves when the connection is over; never rejects. */
  readonly ended: Promise<Ending>;
  readonly #socket: FrameSocket;
  readonly #options: LinkConnectionOptions;
  #resolveEnded: (ending: Ending) => void = () => {};
  #phase: "handshaking" | "up" | "ended" = "handshaking";
  #status: AgentStatus | null = null;
  #hasSentToken = false;
  #upSinceMs: number | null = null;
  #channel: Channel<AgentMessage, OrchestratorMessage> | null = null;

  /** @param earlier - Resolves when no handler of an earlier connection runs any more. */
  constructor(socket: FrameSocket, options: LinkConnectionOptions, earlier: Promise<void>) {
    this.#socket = socket;
    this.#options = options;
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
    const { clock, crypto, identity, pin, epochs, description } = options;
    const enrolmentToken = options.enrolmentToken?.() ?? null;
    const handshake = createAgentHandshake({
      crypto,
      ...identity,
      description,
      pinnedKey: pin.get(),
      tlsExporter: socket.tlsExporter,
      ...(epochs && { followedEpoch: (key) => epochs.get(key) }),
      ...(enrolmentToken !== null && { enrolmentToken }),
    });
    const deadline = clock.setTimer(handshakeTimeoutMs, () => {
      if (this.#phase === "handshaking") {
        this.#fail(new OrchestratorError("AGENT_TIMEOUT", { message: "The orchestrator does not answer." }));
      }
    });
    void this.ended.then(() => deadline.cancel());
    socket.listen({
      frame: (frame) => this.#receive(frame, () => handshake.receive(frame), earlier),
      closed: (code, reason) => {
        const message = `closed by the orchestrator (${code}${reason && ` ${reason}`})`;
        const retryMs = retryMsOf(reason);
        this.#end({ code: null, message, ...(retryMs !== null && { retryMs }) });
      },
    });
    socket.send(handshake.hello());
  }

  /** How the orchestrator thinks of the agent; null unless the connection is up. */
  get status(): AgentStatus | null {
    return this.#phase === "up" ? this.#status : null;
  }

  /** When the connection came up, by the monotonic clock; null where it never did. Stays when it has ended. */
  get upSinceMs(): number | null {
    return this.#upSinceMs;
  }

  /** Bytes that were sent and are still here. */
  get bufferedBytes(): number {
    return this.#socket.bufferedBytes;
  }

  /** The channel of an approved agent. */
  get channel(): Channel<AgentMessage, OrchestratorMessage> {
    if (this.#phase !== "up" || !this.#channel) throw new OrchestratorError("AGENT_OFFLINE");
    if (this.#status !== "approved") throw new OrchestratorError("AGENT_NOT_APPROVED");
    return this.#channel;
  }

  /** Ends the connection in order. */
  close(reason: string): void {
    this.#end({ code: null, message: reason }, closeCode.normal);
  }

  /** Resolves when the handler in progress is done. */
  async settled(): Promise<void> {
    await this.#channel?.settled();
  }

  #receive(frame: Uint8Array | string, handshake: () => AgentHandshakeStep, earlier: Promise<void>): void {
    if (this.#channel) {
      this.#channel.receive(frame);
      return;
    }
    if (this.#phase === "ended") return;
    try {
      const step = handshake();
      if (step.kind === "send") this.#socket.send(step.frame);
      else void this.#takeUp(step, earlier).catch((error: unknown) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
  }

  async #takeUp(
    accepted: Extract<AgentHandshakeStep, { kind: "accepted" }>,
    earlier: Promise<void>,
  ): Promise<void> {
    const { clock, pin, epochs, handlers } = this.#options;
    const channel = new Channel<AgentMessage, OrchestratorMessage>({
      socket: this.#socket,
      session: accepted.session,
      clock,
      sendLimitBytes: defaultSendLimitBytes,
      reads: new LongReads(),
      turns: new FrameTurns(clock),
      handlers: {
        message: (message) => this.#hear(message),
        stream: (streamId, data) => handlers.stream(streamId, data),
        ended: (ending) => this.#end(ending),
      },
    });
    this.#channel = channel;
    this.#status = accepted.status;
    this.#hasSentToken = accepted.hasSentToken;
    await pin.set(accepted.orchestratorKey);
    // Its own server would not have let it in: whoever holds the key and is older must not be obeyed for having forgotten to ask.
    if (accepted.epoch) epochs?.follow(accepted.orchestratorKey, accepted.epoch);
    await earlier;
    if (this.#phase === "ended") return;
    this.#phase = "up";
    this.#upSinceMs = clock.monotonic();
    const hasSentToken = this.#hasSentToken;
    handlers.accepted(accepted.status, accepted.orchestratorTime, { hasSentToken });
    channel.open();
  }

  async #hear(message: OrchestratorMessage): Promise<void> {
    if (message.type !== "status") return this.#options.handlers.command(message);
    this.#status = message.status;
    this.#options.handlers.statusChanged(message.status, { hasSentToken: this.#hasSentToken });
  }

  #fail(error: unknown): void {
    const code = isOrchestratorError(error) ? error.code : "INTERNAL";
    const message = error instanceof Error ? error.message : String(error);
    this.#end({ code, message }, closeCode.protocolError);
  }

  #end(ending: Ending, closeWith?: number): void {
    if (this.#phase === "ended") return;
    this.#phase = "ended";
    this.#channel?.end();
    if (closeWith !== undefined) this.#socket.close(closeWith, ending.code ?? "");
    this.#resolveEnded(ending);
  }
}
