/** A connection inside the process: it orders, buffers, pauses and closes as a WebSocket does, without a network. */
import type { FrameSocket, SocketHandlers } from "./socket.ts";

type Delivery =
  | { kind: "frame"; frame: Uint8Array | string }
  | { kind: "probe"; answered: () => void }
  | { kind: "answer"; answered: () => void }
  | { kind: "closed"; code: number; reason: string };

/** Code of a connection that was cut without a word, as RFC 6455 numbers it. */
const cutCode = 1006;

/** Makes both ends of a connection. What one end sends reaches the other in a later microtask, in order. */
export function createSocketPair(remoteAddress: string | null = null): [FrameSocket, FrameSocket] {
  const left = new MemorySocket(remoteAddress);
  const right = new MemorySocket(remoteAddress);
  left.peer = right;
  right.peer = left;
  return [left, right];
}

class MemorySocket implements FrameSocket {
  readonly remoteAddress: string | null;
  readonly tlsExporter = null;
  /** Itself until the pair is joined. */
  peer: MemorySocket = this;
  #handlers: SocketHandlers | null = null;
  #inbox: Delivery[] = [];
  #inboxBytes = 0;
  #isPaused = false;
  #isScheduled = false;
  #state: "open" | "closing" | "closed" = "open";

  constructor(remoteAddress: string | null) {
    this.remoteAddress = remoteAddress;
  }

  get bufferedBytes(): number {
    return this.peer.#inboxBytes;
  }

  listen(handlers: SocketHandlers): void {
    this.#handlers = handlers;
    this.#schedule();
  }

  send(frame: Uint8Array | string): void {
    if (this.#state === "open") this.peer.#take({ kind: "frame", frame });
  }

  pause(): void {
    if (this.#state === "open") this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#schedule();
  }

  probe(): Promise<void> {
    return new Promise((answered) => {
      if (this.#state === "open") this.peer.#take({ kind: "probe", answered });
    });
  }

  close(code: number, reason: string): void {
    if (this.#state !== "open") return;
    this.peer.#take({ kind: "closed", code, reason });
    this.#closeHere(code, reason);
  }

  destroy(): void {
    if (this.#state !== "open") return;
    this.peer.#closeHere(cutCode, "");
    this.#closeHere(cutCode, "");
  }

  #take(delivery: Delivery): void {
    if (this.#state !== "open") return;
    this.#inbox.push(delivery);
    if (delivery.kind === "frame") this.#inboxBytes += delivery.frame.length;
    this.#schedule();
  }

  /** Nothing more comes in but the news that it is over. */
  #closeHere(code: number, reason: string): void {
    if (this.#state !== "open") return;
    this.#state = "closing";
    this.#isPaused = false;
    this.#inbox = [{ kind: "closed", code, reason }];
    this.#inboxBytes = 0;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isPaused || !this.#handlers || this.#inbox.length === 0) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    this.#isScheduled = false;
    if (this.#isPaused || this.#state === "closed") return;
    const next = this.#inbox.shift();
    if (next?.kind === "frame") {
      this.#inboxBytes -= next.frame.length;
      this.#handlers?.frame(next.frame);
    } else if (next?.kind === "probe") {
      this.peer.#take({ kind: "answer", answered: next.answered });
    } else if (next?.kind === "answer") {
      next.answered();
    } else if (next) {
      this.#state = "closed";
      this.#inbox = [];
      this.#handlers?.closed(next.code, next.reason);
    }
    this.#schedule();
  }
}
