import { OrchestratorError } from "../../../errors.ts";
import type { FileStat } from "../../../host/host.ts";

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
