import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { errnoWords, systemErrorName } from "./errno-words.ts";
import type { FileStat } from "./host.ts";

/** Names the refusal of a machine: `HOST_ERROR` with the path and the name of the system's error, told in words. */
export function hostError(path: string, errno: string, cause?: unknown): OrchestratorError {
  const message = `${errnoWords(errno, cause)}: ${path}`;
  return new OrchestratorError("HOST_ERROR", { message, details: { path, errno }, cause });
}

/** `HOST_ERROR` where a file is held as it is: it is immutable, or something is mounted there. `why` ends "<path> ...". */
export function heldError(path: string, errno: string, why: string): OrchestratorError {
  const message = `${path} ${why}.`;
  return new OrchestratorError("HOST_ERROR", { message, details: { path, errno } });
}

/** `HOST_ERROR` where a file can't keep what it has beside content, mode and owner; nothing has been changed then. */
export function lostError(path: string, lost: ReadonlyMap<string, string>): OrchestratorError {
  const [errno = "UNKNOWN"] = lost.values();
  const names = [...lost.keys()];
  const message = `${path} would lose ${names.join(", ")}, which can't be given to what takes its place: ${errnoWords(errno)}.`;
  return new OrchestratorError("HOST_ERROR", { message, details: { path, errno, extras: names } });
}

/** The same for what a call of the system threw; anything else, as the reason of a signal, stays what it is. */
export function toHostError(path: string, error: unknown): unknown {
  const isOfSystem = error instanceof Error && typeof (error as { code?: unknown }).code === "string";
  return isOfSystem && !isOrchestratorError(error) ? hostError(path, errnoOf(error), error) : error;
}

/** `HOST_ERROR` with errno ESTALE where a file is not the one that was looked at before. */
export function requireSame(path: string, found: FileStat, expected: FileStat | undefined): void {
  if (!expected) return;
  const same = (["kind", "mode", "uid", "gid", "sizeBytes"] as const).every(
    (property) => found[property] === expected[property],
  );
  if (!same) throw hostError(path, "ESTALE");
}

/** The name of a system error, e.g. "ENOENT"; "UNKNOWN" for anything else. */
export function errnoOf(error: unknown): string {
  return systemErrorName(error) ?? "UNKNOWN";
}
