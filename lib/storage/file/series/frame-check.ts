import { decodeFrame, frameLength, marker } from "./frames.ts";

/** No head is longer: with so many bytes at hand it is known whether a frame begins there. */
const longestHead = 65_536;

/** Checks the frames of files while their bytes go by. */
export class FrameCheck {
  /** Whole frames so far. */
  frames = 0;
  /** Stretches of bytes so far that are no frame. */
  damages = 0;
  #rest: Buffer = Buffer.alloc(0);
  #isDamaged = false;

  take(bytes: Uint8Array): void {
    this.#read(Buffer.concat([this.#rest, bytes]), false);
  }

  /** Ends a file: the next bytes are of another one. */
  end(): void {
    this.#read(this.#rest, true);
    this.#isDamaged = false;
  }

  #read(content: Buffer, isEnd: boolean): void {
    let at = 0;
    while (at < content.length) {
      const frame = decodeFrame(content, at);
      if (frame !== null) {
        this.frames++;
        this.#isDamaged = false;
        at += frame.length;
        continue;
      }
      if (!isEnd && mayGoOn(content, at)) break;
      if (!this.#isDamaged) this.damages++;
      this.#isDamaged = true;
      at = nextMarker(content, at + 1, isEnd);
    }
    this.#rest = content.subarray(at);
  }
}

/** Whether more bytes may make it a whole frame. */
function mayGoOn(content: Buffer, at: number): boolean {
  const left = content.length - at;
  return (frameLength(content, at) ?? longestHead) > left;
}

function nextMarker(content: Buffer, from: number, isEnd: boolean): number {
  const next = content.indexOf(marker, from);
  if (next !== -1) return next;
  // The last bytes may still be the beginning of one.
  return isEnd ? content.length : Math.max(from, content.length - marker.length + 1);
}
