import { createHash } from "node:crypto";

/** The file of a blob that is named after its content, as `saveContent` names it. */
const namePattern = /-([0-9a-f]{64})\.blob$/;

/** Compares a file of a blob, while its bytes go by, with the SHA-256 that its name ends in, where it ends in one. */
export class ContentCheck {
  readonly #expected: string | undefined;
  readonly #digest = createHash("sha256");

  constructor(fileName: string) {
    this.#expected = namePattern.exec(fileName)?.[1];
  }

  take(bytes: Uint8Array): void {
    if (this.#expected !== undefined) this.#digest.update(bytes);
  }

  /** Whether the bytes that went by were what the name says, or it says nothing. Called once, at the end. */
  isIntact(): boolean {
    return this.#expected === undefined || this.#digest.digest("hex") === this.#expected;
  }
}
