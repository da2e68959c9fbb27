import type { FrameSocket } from "./socket.ts";

/** What asks a peer to wait. */
export type Pausable = Pick<FrameSocket, "pause" | "resume">;

/** Lets several ask one peer to wait: it goes on when none of them asks any more. */
export class SharedPause {
  readonly #socket: Pausable;
  readonly #asking = new Set<object>();

  constructor(socket: Pausable) {
    this.#socket = socket;
  }

  /** One more that may ask. */
  share(): Pausable {
    return new Share(this.#socket, this.#asking);
  }
}

class Share implements Pausable {
  readonly #socket: Pausable;
  readonly #asking: Set<object>;

  constructor(socket: Pausable, asking: Set<object>) {
    this.#socket = socket;
    this.#asking = asking;
  }

  pause(): void {
    this.#asking.add(this);
    if (this.#asking.size === 1) this.#socket.pause();
  }

  resume(): void {
    if (this.#asking.delete(this) && this.#asking.size === 0) this.#socket.resume();
  }
}
