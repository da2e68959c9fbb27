import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { realPath } from "../resources/shared/real-path.ts";

/**
 * A machine that misses something tells the whole path that it was asked for. What is missing may be a folder far above: the
 * error names that, since it is what somebody has to make.
 */
export function nameMissing(error: unknown, host: Host): unknown {
  if (!isOrchestratorError(error, "HOST_ERROR")) return error;
  const { errno, path } = error.details;
  if (errno !== "ENOENT" || typeof path !== "string" || !path.startsWith("/")) return error;
  const missing = topmostMissing(path, host);
  if (missing === null || missing === path) return error;
  return new OrchestratorError("HOST_ERROR", {
    message: `missing: ${missing}`,
    details: error.details,
    cause: error,
  });
}

/** Null where nothing is missing any more, or that can't be told. */
function topmostMissing(path: string, host: Host): string | null {
  const parts = path.split("/").filter((part) => part !== "");
  try {
    for (const at of parts.keys()) {
      const folder = `/${parts.slice(0, at + 1).join("/")}`;
      const stat = host.files.stat(folder);
      if (!stat) return folder;
      if (stat.kind !== "symlink" || at === parts.length - 1) continue;
      // A link stands there, and what it leads to does not.
      const real = realPath(folder, host);
      if (real !== folder && !host.files.stat(real)) return topmostMissing(real, host);
    }
  } catch {
    // A link on the way that is not followed is told where it is met.
  }
  return null;
}
