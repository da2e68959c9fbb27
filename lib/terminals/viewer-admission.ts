/**
 * The socket of somebody who wants to see a terminal:
 *
 *   waiting --a message with a ticket--> looked at --it is good--> handed over
 *
 * waiting:   at most 10 s; anything but that message ends it
 * looked at: nothing more is read meanwhile
 */
import type { Clock, Timer } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import { closeCode, type FrameSocket, type SocketHandlers } from "../transport/socket.ts";
import type { ViewerMessage } from "./schemas.ts";
import { broken, parseViewerMessage, refuseViewer } from "./viewer-messages.ts";

const attachMs = 10_000;
/** Frames that were on the way when reading was put off. */
const mostWaiting = 16;

/** Redeems the ticket of a message. Resolves with who hears of the socket from then on, which has been told that it may. */
export type Admit = (message: Extract<ViewerMessage, { type: "attach" }>) => Promise<SocketHandlers>;

/** Takes a socket over until it is closed. */
export function admitViewer(socket: FrameSocket, parts: { clock: Clock; admit: Admit }): void {
  socket.listen(new Admission(socket, parts));
}

class Admission implements SocketHandlers {
  readonly #socket: FrameSocket;
  readonly #admit: Admit;
  readonly #deadline: Timer;
  #admitted: SocketHandlers | null = null;
  #isLooking = false;
  /** What came behind the ticket. */
  readonly #waiting: (Uint8Array | string)[] = [];
  /** How it was closed, or how it is being closed because it was refused. */
  #end: { code: number; reason: string } | null = null;

  constructor(socket: FrameSocket, { clock, admit }: { clock: Clock; admit: Admit }) {
    this.#socket = socket;
    this.#admit = admit;
    this.#deadline = clock.setTimer(attachMs, () =>
      this.#refuse(new OrchestratorError("REQUEST_TIMEOUT", { message: "No ticket came." })),
    );
  }

  frame(frame: Uint8Array | string): void {
    if (this.#admitted !== null) return this.#admitted.frame(frame);
    if (this.#end !== null) return;
    if (this.#isLooking) {
      this.#waiting.push(frame);
      if (this.#waiting.length > mostWaiting) this.#refuse(broken("Too much came before the answer."));
      return;
    }
    void this.#take(frame);
  }

  closed(code: number, reason: string): void {
    this.#deadline.cancel();
    this.#end ??= { code, reason };
    this.#admitted?.closed(code, reason);
  }

  async #take(frame: Uint8Array | string): Promise<void> {
    this.#isLooking = true;
    try {
      const message = typeof frame === "string" ? parseViewerMessage(frame) : null;
      if (message?.type !== "attach") throw broken("The first message must be attach.");
      this.#socket.pause();
      const admitted = await this.#admit(message);
      this.#deadline.cancel();
      this.#admitted = admitted;
      if (this.#end !== null) return admitted.closed(this.#end.code, this.#end.reason);
      for (const waiting of this.#waiting.splice(0)) admitted.frame(waiting);
      this.#socket.resume();
    } catch (error) {
      this.#refuse(error);
    }
  }

  #refuse(error: unknown): void {
    if (this.#end !== null || this.#admitted !== null) return;
    this.#deadline.cancel();
    // Whatever its ticket turns out to be, it is gone: closing the socket takes a while.
    this.#end = { code: closeCode.refused, reason: "refused" };
    refuseViewer(this.#socket, error);
  }
}
