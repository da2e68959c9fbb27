/** The newest output of a terminal, by its place in all of it: for whoever attaches again. */
export class OutputWindow {
  readonly #mostBytes: number;
  #pieces: Uint8Array[] = [];
  #start = 0;
  #end = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Place of the oldest byte that is here. */
  get start(): number {
    return this.#start;
  }

  /** Place after the newest. */
  get end(): number {
    return this.#end;
  }

  push(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.#end += bytes.length;
    for (let first = this.#pieces[0]; first !== undefined; first = this.#pieces[0]) {
      if (this.#end - this.#start - first.length < this.#mostBytes) return;
      this.#pieces.shift();
      this.#start += first.length;
    }
  }

  /** At most so many bytes from a place on, in one piece or less; empty at the end. */
  read(from: number, most: number): Uint8Array {
    let at = this.#start;
    for (const piece of this.#pieces) {
      if (from < at + piece.length) return piece.subarray(from - at, from - at + most);
      at += piece.length;
    }
    return new Uint8Array();
  }
}
