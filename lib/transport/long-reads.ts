import { KeyedQueue } from "../internal/keyed-queue.ts";
import { SlicedWork, type Work } from "../internal/work.ts";

/**
 * Reads long messages of all peers in slices, one message after the other: what is read in part takes many times the memory of its text,
 * and those that wait are nothing but text.
 */
export class LongReads {
  readonly #inLine = new KeyedQueue();
  readonly #slices = new SlicedWork();

  /** Does the reading when those before it have ended. */
  do<Message>(reading: Work<Message>): Promise<Message> {
    return this.#inLine.do("", () => this.#slices.do(reading));
  }
}
