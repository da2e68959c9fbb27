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
    const self = {};
    return {
      pause: () => {
        this.#asking.add(self);
        if (this.#asking.size === 1) this.#socket.pause();
      },
      resume: () => {
        if (this.#asking.delete(self) && this.#asking.size === 0) this.#socket.resume();
      },
    };
  }
}
