/** Adds to one blob; see `Storage.openBlob`. Several calls at once are done one after the other. */
export interface BlobWriter {
  /** Bytes of the blob, with all that was appended. */
  readonly size: number;
  /**
   * Adds bytes, which must not be changed until it resolves. Resolved means that they outlive this process; a power loss only with the
   * next {@link sync}.
   *
   * @throws {OrchestratorError} `STORAGE_FULL`, and none of them is added; `STORAGE_FAILED`; `STORAGE_CLOSED`, also after {@link close}.
   */
  append(bytes: Uint8Array): Promise<void>;
  /** Resolves when all that was appended before the call is durable. What is appended meanwhile does not wait for it. */
  sync(): Promise<void>;
  /** Syncs, and lets go of the blob. May be called twice; closing the storage does it, too. */
  close(): Promise<void>;
}

/** The same writer, with something to be done around each append and each sync. */
export function guardedWriter(
  writer: BlobWriter,
  guard: Record<"append" | "sync", (write: () => Promise<void>) => Promise<void>>,
): BlobWriter {
  return {
    get size() {
      return writer.size;
    },
    append: (bytes) => guard.append(() => writer.append(bytes)),
    sync: () => guard.sync(() => writer.sync()),
    close: () => writer.close(),
  };
}
