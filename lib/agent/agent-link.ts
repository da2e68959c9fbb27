/**
 * The agent's line to its orchestrator: dials, proves, listens, and dials again, until it is stopped.
 *
 *   idle --start--> dialing --> connected --> waiting --> dialing ...        stop, from any: --> stopped
 *
 * waiting: 0 to 1 s after the first failure, doubled with each up to 0 to 60 s; back to the start after a connection that
 * lasted a minute. The whole range is drawn from, so that a fleet does not come back at one moment.
 */
import type { Timer } from "../clock.ts";
import { OrchestratorError, type ErrorCode } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { defaultSendLimitBytes, type Ending } from "../transport/channel.ts";
import type { FrameSocket } from "../transport/socket.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import type { AgentMessage } from "../wire/messages.ts";
import { LinkConnection, type LinkConnectionOptions } from "./link-connection.ts";

const firstDelayMs = 1000;
const longestDelayMs = 60_000;
/** What will hardly be better in a second. */
const lastingFailures: readonly (ErrorCode | null)[] = [
  "ORCHESTRATOR_KEY_CHANGED",
  "VERSION_UNSUPPORTED",
  "KEY_REFUSED",
];

/** What an agent's line is made with. */
export interface AgentLinkOptions extends Omit<LinkConnectionOptions, "sendLimitBytes"> {
  /** Opens a connection; rejects when the signal aborts. */
  dial(signal: AbortSignal): Promise<FrameSocket>;
  /** From 0 up to 1: spreads the attempts. */
  random(): number;
  logger: Logger;
  /** Bytes that may wait for an orchestrator that does not read; past it the connection ends. Default 32 MiB. */
  sendLimitBytes?: number;
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
  const abort = new AbortController();
  let connection: LinkConnection | null = null;
  let wake = (): void => {};
  let finish = (): void => {};
  let isStarted = false;
  const done = new Promise<void>((resolve) => (finish = resolve));

  const connected = (): LinkConnection => {
    if (!connection) throw new OrchestratorError("AGENT_OFFLINE");
    return connection;
  };

  async function connectOnce(earlier: Promise<void>): Promise<{ ending: Ending; settled: Promise<void> }> {
    let socket: FrameSocket;
    try {
      socket = await options.dial(abort.signal);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return {
        ending: { code: null, message: `The orchestrator can't be reached: ${message}` },
        settled: earlier,
      };
    }
    if (abort.signal.aborted) {
      socket.destroy();
      return { ending: { code: null, message: "stopped" }, settled: earlier };
    }
    const { sendLimitBytes = defaultSendLimitBytes } = options;
    const current = new LinkConnection(socket, { ...options, sendLimitBytes }, earlier);
    connection = current;
    const ending = await current.ended;
    connection = null;
    return { ending, settled: Promise.all([earlier, current.settled()]).then(() => {}) };
  }

  async function run(): Promise<void> {
    const { clock, handlers, logger, random } = options;
    let failures = 0;
    let earlier = Promise.resolve();
    while (!abort.signal.aborted) {
      const startedMs = clock.monotonic();
      const { ending, settled } = await connectOnce(earlier);
      earlier = settled;
      logger.debug("The connection to the orchestrator ended.", { ...ending });
      try {
        handlers.down(ending);
      } catch (error) {
        // The line must outlive whoever listens: nothing else brings the agent back.
        logger.error("A handler of the link threw.", { error });
      }
      if (abort.signal.aborted) break;
      if (clock.monotonic() - startedMs >= longestDelayMs) failures = 0;
      const isLasting = lastingFailures.includes(ending.code);
      const rangeMs = isLasting ? longestDelayMs : Math.min(longestDelayMs, firstDelayMs * 2 ** failures);
      failures += 1;
      await pause(rangeMs * random());
    }
    await earlier;
  }

  async function pause(delayMs: number): Promise<void> {
    let timer: Timer | null = null;
    await new Promise<void>((resolve) => {
      wake = resolve;
      timer = options.clock.setTimer(delayMs, resolve);
    });
    (timer as Timer | null)?.cancel();
  }

  return {
    get status() {
      return connection?.status ?? "offline";
    },
    get bufferedBytes() {
      return connection?.bufferedBytes ?? 0;
    },
    done,
    start() {
      if (isStarted) throw new OrchestratorError("INTERNAL", { message: "The link is started already." });
      isStarted = true;
      void run().finally(finish);
    },
    async stop() {
      abort.abort();
      connection?.close("stopped");
      wake();
      if (!isStarted) finish();
      await done;
    },
    send: (message) => connected().channel.send(message),
    sendStream: (streamId, data) => connected().channel.sendStream(streamId, data),
  };
}
