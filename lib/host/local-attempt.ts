/** Calls at a path of this machine, with their refusals in the words of the port. */
import { isOrchestratorError } from "../errors.ts";
import { orFail } from "../internal/maybe-waiting.ts";
import { errnoOf, toHostError } from "./host-error.ts";
import type { LocalPaths, PathUse } from "./local-paths.ts";

/** Does something at a path; what the system refuses, now or later, is `HOST_ERROR`. */
export function attempt<T>(path: string, act: PathUse<T>, paths: LocalPaths): T {
  return orFail(
    () => paths.use(path, act),
    (error) => {
      throw toHostError(path, error);
    },
  );
}

/** Looks at a path: nothing there is an answer, not a failure. */
export function orNull<T>(look: () => T, path: string): T | null {
  try {
    return look();
  } catch (error) {
    const errno = isOrchestratorError(error) ? error.details["errno"] : errnoOf(error);
    if (errno === "ENOENT" || errno === "ENOTDIR") return null;
    throw toHostError(path, error);
  }
}
