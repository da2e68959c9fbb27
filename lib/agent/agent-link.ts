/**
 * The agent's line to its orchestrator: dials, proves, listens, and dials again, until it is stopped.
 *
 *   idle --start--> dialing --> connected --> waiting --> dialing ...        stop, from any: --> stopped
 *
 * waiting: 0 to 1 s after the first failure, longer by what was waited since, up to 0 to 60 s: twice as long for who drew the
 * longest each time. So an agent that drew short waits while a server was restarted does not draw a long one when it is there. A
 * connection that was accepted and lasted ten seconds ends the row of failures: a server that was restarted, also several times, has
 * its agents back in seconds. What it goes back to is 0 to 1 s after a whole minute, else doubled with each up to 0 to 8 s; one that
 * ended sooner is a failure, so that a server that accepts and drops is not called without end. The whole range is drawn from, so
 * that a fleet does not come back at one moment. A server that says when to come again is obeyed, a tenth later at most, up to a
 * minute and ten times in a row. Where a new place to dial is heard of, the row of failures ends, too, once a minute at most.
 */
import type { Timer } from "../clock.ts";
import { OrchestratorError, type ErrorCode } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { Ending } from "../transport/ending.ts";
import type { FrameSocket } from "../transport/socket.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import type { AgentMessage } from "../wire/messages.ts";
import { LinkConnection, type LinkConnectionOptions } from "./link-connection.ts";
import { TlsFailure } from "./websocket-dial.ts";

const firstDelayMs = 1000;
const longestDelayMs = 60_000;
/** A connection that lasted so long is as good as one that never ended. */
const lastingMs = 60_000;
/** One that ended sooner is a failure, although it was accepted. */
const shortestMs = 10_000;
/** How much later than it was told an agent comes, as a share, and in milliseconds where that is more. */
const hintSpreadRatio = 0.1;
const hintSpreadMs = 50;
/** How many times in a row a server is obeyed that says when to come again, and then is not ready all the same. */
const mostHints = 10;
/** How many connections of less than a minute make the next wait longer: up to 0 to 8 s. */
const mostInterruptions = 3;
/** What will hardly be better in a second. */
const lastingFailures: readonly (ErrorCode | null)[] = [
  "ORCHESTRATOR_KEY_CHANGED",
  "ORCHESTRATOR_SUPERSEDED",
  "VERSION_UNSUPPORTED",
  "KEY_REFUSED",
];

/** What an agent's line is made with. */
export interface AgentLinkOptions extends LinkConnectionOptions {
  /** Opens a connection; rejects when the signal aborts. */
  dial(signal: AbortSignal): Promise<FrameSocket>;
  /** From 0 up to 1: spreads the attempts. */
  random(): number;
  logger: Logger;
}

/** The agent's line to its orchestrator. */
export interface AgentLink {
  /** How the orchestrator thinks of the agent, or "offline". */
  readonly status: AgentStatus | "offline";
  /** Bytes that were sent and are still here: who makes much output waits while this is high. */
  readonly bufferedBytes: number;
  /** Resolves when the link has stopped. */
  readonly done: Promise<void>;
  /** Begins to dial. Called once. */
  start(): void;
  /** Waits no longer than after a first failure, because there is a new place to dial. At most once a minute, so that nobody calls it without end. */
  comeSooner(): void;
  /** Ends the connection that there is; the next attempt follows by itself. */
  hangUp(reason: string): void;
  /** Ends the connection and dials no more; resolves when no handler runs any more, so no handler may wait for it. */
  stop(): Promise<void>;
  /**
   * Sends a message; what is on the way when a connection ends is lost.
   *
   * @throws {OrchestratorError} `AGENT_OFFLINE` when there is no connection.
   * @throws {OrchestratorError} `AGENT_NOT_APPROVED` while the agent may only wait.
   * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` above 16 MiB of text.
   */
  send(message: AgentMessage): void;
  /** Sends a piece of a stream, at most 1 MiB less 33 bytes; errors as for `send`. */
  sendStream(streamId: string, data: Uint8Array): void;
}

/** Makes a line that is not started yet. */
export function createAgentLink(options: AgentLinkOptions): AgentLink {
  return new DialingLink(options);
}

class DialingLink implements AgentLink {
  readonly done: Promise<void>;
  readonly #options: AgentLinkOptions;
  readonly #abort = new AbortController();
  #connection: LinkConnection | null = null;
  #isStarted = false;
  /** What was waited since the first of the failures in a row, milliseconds, which the next wait goes by. */
  #waitedMs = 0;
  /** How many times in a row the orchestrator said when to come again. */
  #hints = 0;
  /** Connections in a row that lasted less than a minute. */
  #interruptions = 0;
  /** Resolves when no handler of an earlier connection runs any more. */
  #earlier: Promise<void> = Promise.resolve();
  #wake = (): void => {};
  #hasten = (): void => {};
  #hastenedAtMs = -Infinity;
  #finish = (): void => {};

  constructor(options: AgentLinkOptions) {
    this.#options = options;
    this.done = new Promise((resolve) => (this.#finish = resolve));
  }

  get status(): AgentStatus | "offline" {
    return this.#connection?.status ?? "offline";
  }

  get bufferedBytes(): number {
    return this.#connection?.bufferedBytes ?? 0;
  }

  start(): void {
    if (this.#isStarted) throw new OrchestratorError("INTERNAL", { message: "The link is started already." });
    this.#isStarted = true;
    void this.#run().finally(this.#finish);
  }

  comeSooner(): void {
    const nowMs = this.#options.clock.monotonic();
    if (nowMs - this.#hastenedAtMs < longestDelayMs) return;
    this.#hastenedAtMs = nowMs;
    // Also of a wait that is still to come: the attempt that goes on may be at a place where nobody is any more.
    this.#waitedMs = 0;
    this.#hasten();
  }

  hangUp(reason: string): void {
    this.#connection?.close(reason);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#connection?.close("stopped");
    this.#wake();
    if (!this.#isStarted) this.#finish();
    await this.done;
  }

  send(message: AgentMessage): void {
    this.#connected().channel.send(message);
  }

  sendStream(streamId: string, data: Uint8Array): void {
    this.#connected().channel.sendStream(streamId, data);
  }

  #connected(): LinkConnection {
    if (!this.#connection) throw new OrchestratorError("AGENT_OFFLINE");
    return this.#connection;
  }

  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      const ending = await this.#connectOnce();
      this.#report(ending);
      await this.#pause(this.#nextDelayMs(ending));
    }
    await this.#earlier;
  }

  async #connectOnce(): Promise<Ending> {
    let socket: FrameSocket;
    try {
      socket = await this.#options.dial(this.#abort.signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return {
        code: null,
        message: `The orchestrator can't be reached: ${message}`,
        ...(error instanceof TlsFailure && { needsSomebody: true }),
      };
    }
    if (this.#abort.signal.aborted) {
      socket.destroy();
      return { code: null, message: "stopped" };
    }
    const connection = new LinkConnection(socket, this.#options, this.#earlier);
    this.#connection = connection;
    const ending = await connection.ended;
    this.#connection = null;
    if (connection.upSinceMs !== null)
      this.#noteLifetime(this.#options.clock.monotonic() - connection.upSinceMs);
    this.#earlier = Promise.all([this.#earlier, connection.settled()]).then(() => {});
    return ending;
  }

  /** Decides what an accepted connection, now that it has ended, does to the next wait. */
  #noteLifetime(ms: number): void {
    if (ms < shortestMs) return;
    this.#interruptions = ms < lastingMs ? Math.min(this.#interruptions + 1, mostInterruptions) : 0;
    // As if one wait of the longest had followed each interruption.
    this.#waitedMs = firstDelayMs * (2 ** this.#interruptions - 1);
    this.#hints = 0;
  }

  #report(ending: Ending): void {
    const { handlers, logger } = this.#options;
    logger.debug("The connection to the orchestrator ended.", { ...ending });
    try {
      handlers.down(ending);
    } catch (error) {
      // The line must outlive whoever listens: nothing else brings the agent back.
      logger.error("A handler of the link threw.", { error });
    }
  }

  #nextDelayMs(ending: Ending): number {
    const { retryMs } = ending;
    if (retryMs !== undefined && this.#hints < mostHints) {
      this.#hints += 1;
      const spreadMs = Math.max(hintSpreadMs, retryMs * hintSpreadRatio);
      return Math.min(longestDelayMs, retryMs + spreadMs * this.#options.random());
    }
    const isLasting = lastingFailures.includes(ending.code);
    const rangeMs = isLasting ? longestDelayMs : Math.min(longestDelayMs, firstDelayMs + this.#waitedMs);
    const delayMs = rangeMs * this.#options.random();
    this.#waitedMs += delayMs;
    return delayMs;
  }

  async #pause(delayMs: number): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const { clock, random } = this.#options;
    const endMs = clock.monotonic() + delayMs;
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = clock.setTimer(delayMs, resolve);
      this.#hasten = () => {
        timer?.cancel();
        timer = clock.setTimer(Math.min(endMs - clock.monotonic(), firstDelayMs * random()), resolve);
      };
    });
    timer?.cancel();
    this.#hasten = () => {};
  }
}
