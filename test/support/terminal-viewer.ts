import { vi } from "vitest";
import type { FrameSocket } from "fleetwright";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";

/** Somebody at a terminal, over a socket in memory: acknowledges what comes, and keeps it. */
export class TestViewer {
  readonly socket: FrameSocket;
  /** What the server said beside output. */
  readonly messages: { type: string; [field: string]: unknown }[] = [];
  readonly pieces: Uint8Array[] = [];
  /** What was shown. */
  text = "";
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  /** Whether what comes is acknowledged. */
  acknowledges = true;
  offset = 0;
  closedWith: { code: number; reason: string } | null = null;

  constructor(accept: (socket: FrameSocket) => void) {
    const [here, there] = createSocketPair("127.0.0.1");
    this.socket = here;
    here.listen({
      frame: (frame) => this.#take(frame),
      closed: (code, reason) => (this.closedWith = { code, reason }),
    });
    accept(there);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }

  say(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  type(text: string): void {
    this.socket.send(new TextEncoder().encode(text));
  }

  /** Waits for a message of a type. */
  async next(type: string): Promise<{ type: string; [field: string]: unknown }> {
    return vi.waitFor(() => {
      const found = this.messages.find((message) => message.type === type);
      if (!found) throw new Error(`no ${type} in ${JSON.stringify(this.messages)}: ${this.text.slice(-500)}`);
      return found;
    }, 30_000);
  }

  /** Waits until what was shown matches. */
  async shows(pattern: RegExp): Promise<void> {
    await vi.waitFor(() => {
      if (!pattern.test(this.text))
        throw new Error(`${pattern} is not in ${JSON.stringify(this.text.slice(-2000))}`);
    }, 30_000);
  }

  #take(frame: Uint8Array | string): void {
    if (typeof frame === "string") {
      const message = JSON.parse(frame) as { type: string; offset?: number };
      if (message.type === "opened") this.offset = message.offset ?? 0;
      this.messages.push(message);
      return;
    }
    this.pieces.push(Uint8Array.from(frame));
    this.text += this.#decoder.decode(frame, { stream: true });
    this.offset += frame.length;
    if (this.acknowledges) this.say({ type: "ack", offset: this.offset });
  }
}
