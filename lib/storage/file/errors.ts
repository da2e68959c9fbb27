import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { StorageLoss } from "../storage.ts";
import { errorCodeOf } from "./disk.ts";

const outOfSpaceCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Turns an error of the file system into the one that the port promises: `STORAGE_FULL` or `STORAGE_FAILED`. */
export function storageError(error: unknown): OrchestratorError {
  if (isOrchestratorError(error)) return error;
  const errno = errorCodeOf(error);
  if (errno === undefined) return new OrchestratorError("STORAGE_FAILED", { cause: error });
  if (outOfSpaceCodes.has(errno)) return new OrchestratorError("STORAGE_FULL", { cause: error });
  const message = passingCodes.has(errno)
    ? `The data folder can't be used now (${errno}): this machine or process lacks something.`
    : `The data folder can't be used (${errno}).`;
  return new OrchestratorError("STORAGE_FAILED", { message, cause: error });
}

/** What the process or the machine lacks for a moment, and says nothing of the disk. */
const passingCodes = new Set(["EMFILE", "ENFILE", "ENOMEM", "EINTR", "EAGAIN"]);

/** The system's name of an error, or of what caused it; null where it is none of the system's. */
export function errnoOf(error: unknown): string | null {
  return isOrchestratorError(error) ? errnoOf(error.cause) : (errorCodeOf(error) ?? null);
}

/** Whether the process or the machine lacks something for a moment. */
export function isPassing(error: unknown): boolean {
  return passingCodes.has(errnoOf(error) ?? "");
}

/** Whether files can't be opened for a moment, which has left what is written as it was. */
export function isShortOfFiles(error: unknown): boolean {
  return ["EMFILE", "ENFILE"].includes(errnoOf(error) ?? "");
}

/** The reason to write nothing any more where an error is one of the disk; null for any other, out of space among them. */
export function diskFailure(error: unknown): OrchestratorError | null {
  if (storageError(error).code !== "STORAGE_FAILED") return null;
  if (isOrchestratorError(error) && "errno" in error.details) return error;
  const errno = errnoOf(error);
  if (errno === null || passingCodes.has(errno)) return null;
  return new OrchestratorError("STORAGE_FAILED", {
    message: `The disk of the data folder reported an error (${errno}): nothing is written any more until the process is started again.`,
    details: { errno },
    cause: error,
  });
}

/** The reason to write nothing any more after an error, whatever it is. */
export function finalFailure(error: unknown): OrchestratorError {
  const failure = storageError(error);
  if (failure.code !== "STORAGE_FAILED") return new OrchestratorError("STORAGE_FAILED", { cause: error });
  return diskFailure(error) ?? failure;
}

/** The same where a data folder could not be opened: names it, and what the system says. */
export function unusable(error: unknown, folder: string): OrchestratorError {
  const refusal = storageError(error);
  if (refusal.code !== "STORAGE_FULL" && refusal.code !== "STORAGE_FAILED") return refusal;
  const errno = errorCodeOf(refusal.cause) ?? "unknown";
  return new OrchestratorError(refusal.code, {
    message: `The data folder ${folder} can't be used: ${errno}.`,
    details: { folder, errno },
    cause: error,
  });
}

/** The refusal of a damaged file: says which, and where in it. */
export function corrupt(
  file: string,
  offset: number,
  what: string | { what: string; sequence: number },
): OrchestratorError {
  const { what: told, ...place } = typeof what === "string" ? { what } : what;
  return new OrchestratorError("STORAGE_CORRUPT", {
    message: `The stored data is damaged: ${told}, in ${file} at byte ${offset}.`,
    details: { file, offset, ...place },
  });
}

/** The refusal to start without what is known to have been stored: says what is missing, and how to go on. */
export function lost({ file, offset, what }: StorageLoss): OrchestratorError {
  const place = `${what}, in ${file} at byte ${offset}`;
  return new OrchestratorError("STORAGE_CORRUPT", {
    message: `The stored data is damaged: ${place}. Restore a backup, or go on without it (fleetwright serve --accept-loss).`,
    details: { file, offset },
  });
}

/**
 * Takes each step, one after the other, whatever becomes of those before it: closing what is open, for one.
 *
 * @throws What the first step that failed threw, when all were taken.
 */
export async function takeEach(steps: readonly (() => Promise<unknown> | undefined)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** What became of the data folder under a storage that has it open. */
export function folderGone(): OrchestratorError {
  return new OrchestratorError("STORAGE_FAILED", {
    message:
      "The data folder was removed, replaced or unmounted while it was in use; nothing is written any more.",
  });
}
