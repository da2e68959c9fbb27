/** How much an archive may put on the disk, told before anything of it is there. */
import { OrchestratorError } from "../../../errors.ts";

/** Each is looked at in every check. */
const maxEntries = 100_000;

/** What tar reads beside the content of files: a head and the rest of a block for each entry, and for the archive. */
const tarBytesAnEntry = 4_096;
const tarBytes = 1_048_576;

/** The limit of one archive. */
export class ArchiveLimit {
  readonly #archive: string;
  readonly #maxBytes: number;

  /** @param archive - What errors call it: its path, or where it goes. Never an address, which may hold a secret. */
  constructor(archive: string, maxBytes: number) {
    this.#archive = archive;
    this.#maxBytes = maxBytes;
  }

  /** @throws {OrchestratorError} `ARCHIVE_TOO_LARGE` for so many entries. */
  checkEntries(count: number): void {
    if (count > maxEntries)
      throw this.#refusal(`more than ${maxEntries} entries`, { max_entries: maxEntries });
  }

  /** @throws {OrchestratorError} `ARCHIVE_TOO_LARGE` for so many bytes. */
  checkBytes(bytes: number): void {
    if (bytes > this.#maxBytes)
      throw this.#refusal(`more than ${this.#maxBytes} bytes (max_bytes)`, { max_bytes: this.#maxBytes });
  }

  /**
   * What tar read to list an archive is no less than what it can write, whatever the entries say of themselves.
   *
   * @throws {OrchestratorError} `ARCHIVE_TOO_LARGE`.
   */
  checkTarBytes(bytes: number, entries: number): void {
    this.checkBytes(bytes - tarBytes - entries * tarBytesAnEntry);
  }

  #refusal(what: string, limit: Record<string, number>): OrchestratorError {
    return new OrchestratorError("ARCHIVE_TOO_LARGE", {
      message: `The archive ${this.#archive} holds ${what}; nothing was extracted.`,
      details: { archive: this.#archive, ...limit },
    });
  }
}
