import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import { errorCodeOf } from "./disk.ts";

const outOfSpaceCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Turns an error of the file system into the one that the port promises: `STORAGE_FULL` or `STORAGE_FAILED`. */
export function storageError(error: unknown): OrchestratorError {
  if (isOrchestratorError(error)) return error;
  const full = outOfSpaceCodes.has(errorCodeOf(error) ?? "");
  return new OrchestratorError(full ? "STORAGE_FULL" : "STORAGE_FAILED", { cause: error });
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
export function corrupt(file: string, offset: number, what: string): OrchestratorError {
  return new OrchestratorError("STORAGE_CORRUPT", {
    message: `The stored data is damaged: ${what}, in ${file} at byte ${offset}.`,
    details: { file, offset },
  });
}
