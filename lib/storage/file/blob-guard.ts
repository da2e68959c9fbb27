import type { Space } from "./space.ts";

/** What is looked at around writes of blobs. */
interface Guarded {
  /** Throws where the storage is not open. */
  checkOpen: () => void;
  /** Throws where nothing is written any more, or the folder is not the one that was opened. */
  checkInPlace: () => void;
  space: () => Space;
}

/** Blobs are written without the journal, and yet not after an error of the disk, nor is anything after one of theirs. */
export class BlobGuard {
  readonly #guarded: Guarded;

  constructor(guarded: Guarded) {
    this.#guarded = guarded;
  }

  /** Does work that writes. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    const { checkOpen, checkInPlace } = this.#guarded;
    checkOpen();
    checkInPlace();
    const result = await this.add(work);
    checkInPlace();
    return result;
  }

  /** The same without a look at the folder, which its watch and the next sync take: that costs more than what is added. */
  async add<T>(work: () => Promise<T>): Promise<T> {
    const { checkOpen, space } = this.#guarded;
    checkOpen();
    try {
      const result = await work();
      space().note({});
      return result;
    } catch (error) {
      space().note({ error });
      throw error;
    }
  }
}
