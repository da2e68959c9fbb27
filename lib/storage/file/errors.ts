import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import { errorCodeOf } from "./disk.ts";

const outOfSpaceCodes = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** Turns an error of the file system into the one that the port promises: `STORAGE_FULL` or `STORAGE_FAILED`. */
export function storageError(error: unknown): OrchestratorError {
  if (isOrchestratorError(error)) return error;
  const full = outOfSpaceCodes.has(errorCodeOf(error) ?? "");
  return new OrchestratorError(full ? "STORAGE_FULL" : "STORAGE_FAILED", { cause: error });
}

/** The refusal of a damaged file: says which, and where in it. */
export function corrupt(file: string, offset: number, what: string): OrchestratorError {
  return new OrchestratorError("STORAGE_CORRUPT", {
    message: `The stored data is damaged: ${what}, in ${file} at byte ${offset}.`,
    details: { file, offset },
  });
}
