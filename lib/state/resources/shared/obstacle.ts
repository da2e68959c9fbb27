/** Errors for what stands in the way, and for what is not there. */
import { OrchestratorError } from "../../../errors.ts";
import type { FileStat } from "../../../host/host.ts";
import type { JsonObject } from "../../../json.ts";

const names = {
  file: "a file",
  directory: "a folder",
  symlink: "a link",
  other: "something special",
} as const;

/** The error for a path that is taken by something which the resource must not replace. */
export function obstacle(path: string, stat: FileStat): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", {
    message: `${path} is ${names[stat.kind]}, which is left alone.`,
    details: { path, kind: stat.kind },
  });
}

/** A second name of another's file can't be told from the file: what the user does not own is not read or given away. */
export function requireOwn(
  stat: FileStat | null,
  { path, kind, user }: { path: string; kind: FileStat["kind"]; user: { name: string; uid: number } },
): FileStat | null {
  if (stat && stat.kind !== kind) throw obstacle(path, stat);
  if (!stat || stat.uid === user.uid) return stat;
  throw new OrchestratorError("HOST_ERROR", {
    message: `${path} does not belong to ${user.name}, and is left alone.`,
    details: { path, uid: stat.uid },
  });
}

/**
 * The error for what is not there and would have to be: `HOST_ERROR` with `missing: true` in its details. A plan takes it for
 * an answer only where no earlier resource of the run may bring it.
 */
export function missing(message: string, details: JsonObject): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", { message, details: { ...details, missing: true } });
}
