/**
 * A connection whose both sides are proved, seen from one side: frames to messages and back, heartbeat, order and limits.
 *
 *   shut --open()--> open --end()--> ended
 *                    open --finish()--> finishing --> ended
 *
 * While it is shut, messages of the peer wait and messages to it go out already. While it finishes, only those of the peer that
 * came before are handed over: what it said last, such as the result of its last operation, counts.
 */
import type { Clock } from "../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Work } from "../internal/work.ts";
import { fragmentBytes, pingFrameBytes } from "../wire/limits.ts";
import type { MessageHead } from "../wire/message-head.ts";
import type { Opened, Session } from "../wire/session.ts";
import type { UnreadMessage } from "../wire/unread-message.ts";
import { closeCodeOf, isPeersFault, type Ending } from "./ending.ts";
import type { FrameTurns } from "./frame-turns.ts";
import { Heartbeat, type HeartbeatOwner } from "./heartbeat.ts";
import { InboundQueue } from "./inbound-queue.ts";
import type { LongReads } from "./long-reads.ts";
import { SharedPause, type Pausable } from "./shared-pause.ts";
import type { FrameSocket } from "./socket.ts";

/** Default of {@link ChannelOptions.sendLimitBytes}: two of the largest messages. */
export const defaultSendLimitBytes = 32 * 1024 * 1024;

/**
 * Pings that a peer may send while this side sends one: some may have waited while nobody read. Whoever sends them without end would
 * hold up everybody else, and needs no approval for it.
 */
const mostPings = 1_000;

/** How long what a peer said before it left is handed over, milliseconds: a handler that does not end must not keep it connected. */
const finishMs = 2_000;

/** How long a slice of reading a long message takes, milliseconds. */
const sliceMs = 3;

/** The time that a peer may take. */
export interface PeerBudget {
  isSpent(): boolean;
  /** Does a piece of work and counts the time until it returns. */
  spend<Result>(work: () => Result): Result;
}

/** What a channel is made of. */
export interface ChannelOptions<Out, In> {
  socket: FrameSocket;
  session: Session<Out, In>;
  clock: Clock;
  /** Bytes that may wait for a peer that does not read; past it the connection ends. */
  sendLimitBytes: number;
  /** Has long messages read in slices, those of other channels before or after it. */
  reads: LongReads;
  /** Gives frames their turns, those of other channels too. */
  turns: FrameTurns;
  /** Counts what the peer costs; absent where it may cost what it likes. */
  budget?: PeerBudget;
  handlers: {
    /** Whether a message is worth reading; one that is not is dropped unread. Absent: each is. */
    isWanted?(head: MessageHead): Promise<boolean>;
    message(message: In): Promise<void>;
    stream(streamId: string, data: Uint8Array): Promise<void>;
    /** Called once, unless the owner ended the channel. */
    ended(ending: Ending, cause?: unknown): void;
  };
}

/** One side of a proved connection. */
export class Channel<Out, In> implements HeartbeatOwner {
  /** Whether the peer may only wait: anything but a ping of it breaks the protocol. */
  isRestricted = false;
  readonly #options: ChannelOptions<Out, In>;
  readonly #queue: InboundQueue<Exclude<Opened, { kind: "ping" }>>;
  readonly #heartbeat: Heartbeat;
  /** Frames that wait for their turn: few, since the peer was asked to wait. */
  readonly #held: (Uint8Array | string)[] = [];
  readonly #hold: Pausable;
  #isEnded = false;
  #pings = 0;

  constructor(options: ChannelOptions<Out, In>) {
    this.#options = options;
    const pause = new SharedPause(options.socket);
    this.#hold = pause.share();
    this.#queue = new InboundQueue(pause.share(), {
      handle: (item) => this.#handle(item),
      failed: (error) => this.#fail(error),
    });
    this.#heartbeat = new Heartbeat(options.clock, this);
  }

  /** Whether what the peer sends is read now: while it is not, its silence proves nothing. */
  get isReading(): boolean {
    return !this.#queue.isPaused && this.#held.length === 0;
  }

  /** Says that this side lives. */
  ping(): void {
    this.#pings = 0;
    this.#write([this.#options.session.encodePing()]);
  }

  /** Ends the connection of a peer that was not heard. */
  silent(): void {
    this.#cut({ code: "AGENT_TIMEOUT", message: "The peer was silent for too long." });
  }

  /** Begins to hand messages of the peer over. */
  open(): void {
    this.#queue.open();
  }

  /** Takes a frame of the socket. */
  receive(frame: Uint8Array | string): void {
    if (this.#isEnded) return;
    const { turns } = this.#options;
    if (this.#held.length === 0 && !turns.isFull) {
      turns.spend(() => this.#take(frame));
      return;
    }
    this.#held.push(frame);
    if (this.#held.length > 1) return;
    this.#hold.pause();
    turns.wait(() => this.#takeHeld());
  }

  /** The peer left: what came before that is heard, as far as it can be at once. */
  left(): void {
    for (let frame = this.#held.shift(); frame !== undefined && !this.#isEnded; frame = this.#held.shift())
      this.#take(frame);
  }

  #takeHeld(): void {
    const { turns } = this.#options;
    do {
      const frame = this.#held.shift();
      if (frame !== undefined) turns.spend(() => this.#take(frame));
    } while (this.#held.length > 0 && !turns.isFull);
    if (this.#held.length > 0) turns.wait(() => this.#takeHeld());
    else this.#hold.resume();
  }

  #take(frame: Uint8Array | string): void {
    try {
      // Told by its length, so that whoever may only wait makes us open nothing else.
      if (this.isRestricted && frame.length !== pingFrameBytes) throw mayOnlyWait();
      this.#checkBudget();
      this.#heartbeat.heard();
      const opened = this.#spend(() => this.#options.session.open(frame));
      if (opened?.kind === "ping") {
        this.#countPing();
        return;
      }
      if (this.isRestricted) throw mayOnlyWait();
      if (opened) this.#queue.push(opened, opened.kind === "message" ? opened.text.length : frame.length);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Reads a message when its turn has come, and not before it is known that somebody wants it. */
  async #handle(item: Exclude<Opened, { kind: "ping" }>): Promise<void> {
    const { handlers, session } = this.#options;
    if (item.kind === "stream") return handlers.stream(item.streamId, item.data);
    if (handlers.isWanted && !(await handlers.isWanted(item.head))) return;
    this.#checkBudget();
    if (item.text.length <= fragmentBytes) {
      // Awaited: a promise that is returned settles two steps later, and what comes after it may be cut off in between.
      await this.#options.turns.spend(() => this.#spend(() => handlers.message(session.read(item))));
      return;
    }
    const message = await this.#options.reads.do(this.#readInSlices(item));
    if (message !== null) await this.#spend(() => handlers.message(message));
  }

  /** Reads a long message, each slice of which the peer pays for; null where the connection ended meanwhile, which drops it. */
  *#readInSlices(item: UnreadMessage): Work<In | null> {
    const { session, clock } = this.#options;
    const work = session.readInSlices(item);
    // Nothing in the turn in which it came: many may come in one.
    yield;
    while (!this.#queue.hasEnded) {
      const step = this.#spend(() => {
        for (const until = clock.monotonic() + sliceMs; ;) {
          const next = work.next();
          if (next.done === true || clock.monotonic() >= until) return next;
        }
      });
      if (step.done === true) return step.value;
      yield;
    }
    return null;
  }

  #spend<Result>(work: () => Result): Result {
    return this.#options.budget ? this.#options.budget.spend(work) : work();
  }

  #checkBudget(): void {
    if (this.#options.budget?.isSpent() !== true) return;
    throw new OrchestratorError("RATE_LIMITED", { message: "The peer takes more time than it may." });
  }

  #countPing(): void {
    this.#pings += 1;
    if (this.#pings > mostPings)
      throw new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sends nothing but pings." });
  }

  /**
   * Sends a message.
   *
   * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` above 16 MiB.
   * @throws {OrchestratorError} `AGENT_OFFLINE` where the connection ended, also because this message was one too many.
   */
  send(message: Out): void {
    if (!this.#isEnded) this.#write(this.#options.session.encode(message));
    if (this.#isEnded) throw new OrchestratorError("AGENT_OFFLINE");
  }

  /** Sends a piece of a stream; errors as {@link Channel.send}. */
  sendStream(streamId: string, data: Uint8Array): void {
    if (!this.#isEnded) this.#write([this.#options.session.encodeStream(streamId, data)]);
    if (this.#isEnded) throw new OrchestratorError("AGENT_OFFLINE");
  }

  /** Stops everything but the handler in progress. The socket is the owner's to close. */
  end(): void {
    this.#stop();
    this.#queue.end();
  }

  /**
   * As {@link Channel.end}, but for what the peer said before it left: that is handed over, for at most 2 s.
   *
   * @returns Resolves when it is; null where nothing waits.
   */
  finish(): Promise<void> | null {
    this.#stop();
    const finished = this.#queue.finish();
    if (finished === null) return null;
    return new Promise((resolve) => {
      const late = this.#options.clock.setTimer(finishMs, () => {
        this.#queue.end();
        resolve();
      });
      void finished.then(() => {
        late.cancel();
        resolve();
      });
    });
  }

  #stop(): void {
    this.#isEnded = true;
    this.#held.length = 0;
    this.#heartbeat.stop();
  }

  /** Resolves when the handler in progress is done. */
  settled(): Promise<void> {
    return this.#queue.settled();
  }

  #write(frames: readonly Uint8Array[]): void {
    const { socket, sendLimitBytes } = this.#options;
    for (const frame of frames) {
      if (this.#isEnded) return;
      if (socket.bufferedBytes + frame.length > sendLimitBytes) {
        this.#cut({ code: "AGENT_TIMEOUT", message: "The peer does not read what it is sent." });
        return;
      }
      socket.send(frame);
    }
  }

  /** A peer that does not answer or read would not take part in closing either. */
  #cut(ending: Ending): void {
    this.end();
    this.#options.socket.destroy();
    this.#options.handlers.ended(ending);
  }

  #fail(error: unknown): void {
    if (this.#isEnded) return;
    this.end();
    const code = isOrchestratorError(error) ? error.code : "INTERNAL";
    const message = isOrchestratorError(error) ? error.message : "A message could not be handled.";
    this.#options.socket.close(closeCodeOf(code), isPeersFault(code) ? code : "INTERNAL");
    this.#options.handlers.ended({ code, message }, error);
  }
}

function mayOnlyWait(): OrchestratorError {
  return new OrchestratorError("PROTOCOL_ERROR", { message: "An agent that is not approved may only wait." });
}
