/** What a message is about, read while its text is scanned. */

/** What a message says first, read without parsing it. Not checked against any schema. */
export interface MessageHead {
  /** Null where it names none. */
  type: string | null;
  /** The operation that it is about; null where it names none. */
  operationId: string | null;
}

/** Longest text of the head, bytes: a UUID is 36. */
const maxHeadText = 64;

/** Reads members of the outermost object; told twice, the last counts, as it does for the parser. */
export class HeadReader {
  readonly head: MessageHead = { type: null, operationId: null };
  #last = "";
  #name: string | null = null;

  /** Takes a string, without its quotes. */
  string(text: Uint8Array, start: number, end: number): void {
    this.#last = end - start > maxHeadText ? "" : String.fromCharCode(...text.subarray(start, end));
    if (this.#name === "type") this.head.type = this.#last;
    if (this.#name === "operation_id") this.head.operationId = this.#last;
  }

  colon(): void {
    this.#name = this.#last;
  }

  comma(): void {
    this.#name = null;
    this.#last = "";
  }
}
