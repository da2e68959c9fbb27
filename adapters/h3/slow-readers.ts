/** How long a client that reads its answer slowly, or not at all, is waited for. */
import type { Socket } from "node:net";

/** Who reads so much of an answer a second, bytes, is waited for to its end. */
const slowestBytesPerSecond = 8 * 1024;

/**
 * How many times the patience with a client that takes nothing may become the longest. What a client reads shows late: the network
 * takes over a megabyte at once when a third of its buffers is free, and nothing before.
 */
const mostTimes = 5;

/** How far the network is with what a connection was given to send. */
export interface Progress {
  /** Bytes that it took so far. */
  taken: number;
  /** Whether there is more for it. */
  isWaiting: boolean;
}

/**
 * The time that one client has left. Time goes while something waits for it, and comes with what it takes, so that it is cut who
 * takes nothing or next to nothing, and not who reads slowly and steadily.
 */
export class Patience {
  readonly #stallMs: number;
  readonly #bytesPerSecond: number;
  #leftMs: number;
  #taken = 0;

  /** @param bytesPerSecond - Who takes so much is waited for to the end. Default 8 KiB. */
  constructor(stallMs: number, bytesPerSecond: number = slowestBytesPerSecond) {
    this.#stallMs = stallMs;
    this.#bytesPerSecond = bytesPerSecond;
    this.#leftMs = stallMs;
  }

  /** Notes how far it is after some time; false when the time is used up. */
  lasts(elapsedMs: number, { taken, isWaiting }: Progress): boolean {
    const earnedMs = ((taken - this.#taken) / this.#bytesPerSecond) * 1000;
    this.#taken = taken;
    if (!isWaiting) {
      this.#leftMs = this.#stallMs;
      return true;
    }
    this.#leftMs = Math.min(this.#leftMs - elapsedMs + earnedMs, this.#stallMs * mostTimes);
    return this.#leftMs > 0;
  }
}

/** What Node counts below a socket. Its own counts of a socket know a large answer only as a whole, and TLS but what is encrypted. */
interface Handle {
  bytesWritten?: number;
  writeQueueSize?: number;
  /** With TLS: the connection below. */
  _parent?: Handle;
}

/** How far the network is with what a socket was given. */
export function progressOf(socket: Socket): Progress {
  const { _handle: own } = socket as { _handle?: Handle | null };
  const { bytesWritten = 0, writeQueueSize = 0 } = own?._parent ?? own ?? {};
  return { taken: bytesWritten - writeQueueSize, isWaiting: socket.writableLength > 0 };
}

/**
 * Cuts connections whose client takes nothing of its answer for so long, or less than 8 KiB a second over a longer time. An answer
 * that waits for its own source is left alone. The function returned ends it.
 *
 * @param unread - The connections with an answer that is not out yet.
 */
export function cutSlowReaders(unread: () => Iterable<Socket>, stallMs: number): () => void {
  const patience = new WeakMap<Socket, Patience>();
  const everyMs = Math.max(10, stallMs / 12);
  const look = (): void => {
    for (const socket of unread()) {
      const own = patience.get(socket) ?? new Patience(stallMs);
      patience.set(socket, own);
      // By the clock of looks, not of the wall: where this process stood still, clients could take nothing.
      if (!own.lasts(everyMs, progressOf(socket))) socket.destroy();
    }
  };
  const timer = setInterval(look, everyMs);
  return () => clearInterval(timer);
}
