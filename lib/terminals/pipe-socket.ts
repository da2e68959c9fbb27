/**
 * A socket over a pipe of the cluster: frames of a viewer whose terminal another process holds. On the pipe a frame is its kind (a byte),
 * its length (four, the highest first) and its content; that of the last is a code (two bytes) and a reason.
 */
import type { Pipe } from "../cluster/cluster.ts";
import { Bell } from "../internal/bell.ts";
import type { FrameSocket, SocketHandlers } from "../transport/socket.ts";

const kinds = { binary: 0, text: 1, close: 2 } as const;
const headBytes = 5;
/** More than a viewer or a terminal sends in one frame. */
const mostFrameBytes = 1_048_576;
/** Code of a connection that was cut without a word, as RFC 6455 numbers it. */
const cutCode = 1006;

export class PipeSocket implements FrameSocket {
  readonly remoteAddress = null;
  readonly tlsExporter = null;
  readonly #pipe: Pipe;
  /** Called when nothing is buffered any more. */
  readonly #drained: () => void;
  #handlers: SocketHandlers | null = null;
  #bufferedBytes = 0;
  #isOver = false;
  #isPaused = false;
  readonly #resumed = new Bell();

  constructor(pipe: Pipe, drained: () => void = () => {}) {
    this.#pipe = pipe;
    this.#drained = drained;
  }

  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  listen(handlers: SocketHandlers): void {
    this.#handlers = handlers;
    void this.#read();
  }

  send(frame: Uint8Array | string): void {
    if (typeof frame === "string") this.#write(kinds.text, Buffer.from(frame));
    else this.#write(kinds.binary, frame);
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#resumed.ring();
  }

  /** The pipe has signs of life of its own. */
  probe(): Promise<void> {
    return new Promise(() => {});
  }

  close(code: number, reason: string): void {
    if (this.#isOver) return;
    const content = Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]);
    content.writeUInt16BE(code);
    this.#write(kinds.close, content);
    this.#pipe.end().catch(() => {});
    this.#end(code, reason);
  }

  destroy(): void {
    this.#pipe.abort();
    this.#end(cutCode, "");
  }

  #write(kind: number, content: Uint8Array): void {
    if (this.#isOver) return;
    const frame = Buffer.allocUnsafe(headBytes + content.length);
    frame.writeUInt8(kind);
    frame.writeUInt32BE(content.length, 1);
    frame.set(content, headBytes);
    this.#bufferedBytes += frame.length;
    const written = (): void => {
      this.#bufferedBytes -= frame.length;
      if (this.#bufferedBytes === 0) this.#drained();
    };
    // A pipe that has failed is noticed by who reads it.
    this.#pipe.write(frame).then(written, written);
  }

  async #read(): Promise<void> {
    let rest: Uint8Array = new Uint8Array();
    try {
      while (!this.#isOver) {
        if (this.#isPaused) await this.#resumed.next(this.#pipe.signal);
        const piece = await this.#pipe.read();
        if (piece === null) break;
        rest = this.#take(rest.length === 0 ? piece : Buffer.concat([rest, piece]));
      }
      this.#end(cutCode, "");
    } catch {
      this.#end(cutCode, "");
    }
  }

  /** Hands whole frames over; gives what is left. */
  #take(bytes: Uint8Array): Uint8Array {
    const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (all.length - at >= headBytes && !this.#isOver) {
      const length = all.readUInt32BE(at + 1);
      if (length > mostFrameBytes) throw new Error("A frame of a pipe is too large.");
      const from = at + headBytes;
      if (all.length < from + length) break;
      this.#hand(all[at]!, all.subarray(from, from + length));
      at = from + length;
    }
    return all.subarray(at);
  }

  #hand(kind: number, content: Buffer): void {
    if (kind === kinds.binary) this.#handlers?.frame(content);
    else if (kind === kinds.text) this.#handlers?.frame(content.toString());
    else {
      this.#pipe.end().catch(() => {});
      this.#end(content.readUInt16BE(), content.subarray(2).toString());
    }
  }

  #end(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.resume();
    this.#handlers?.closed(code, reason);
  }
}
