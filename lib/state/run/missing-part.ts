import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { ResolvedResource } from "../resource.ts";
import { realPath } from "../resources/shared/real-path.ts";
import { read } from "./prepared.ts";
import { isWanted, isWithin } from "./shared-things.ts";
import { pathsOf } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

/**
 * A machine that misses something tells the whole path that it was asked for. What is missing may be a folder far above: the
 * error names that, since it is what somebody has to make, and the resource of the run that would make it, since that has to come first.
 */
export function nameMissing(
  error: unknown,
  host: Host,
  { resource, run }: { resource: ResolvedResource; run: Pick<StateRun, "desired" | "types"> },
): unknown {
  if (!isOrchestratorError(error, "HOST_ERROR")) return error;
  const { errno, path } = error.details;
  if (errno !== "ENOENT" || typeof path !== "string" || !path.startsWith("/")) return error;
  const missing = topmostMissing(path, host);
  if (missing === null) return error;
  // What is taken away comes first, and can wait for nothing.
  const makers = run.desired.includes(resource) ? run.desired.filter((each) => each !== resource) : [];
  const maker = makers.find((each) => makes(each, { missing, path }, run));
  if (missing === path && !maker) return error;
  return new OrchestratorError("HOST_ERROR", {
    message: `missing: ${missing}${maker ? ` (${adviceOn(maker, resource)})` : ""}`,
    details: error.details,
    cause: error,
  });
}

function adviceOn(maker: ResolvedResource, { module }: ResolvedResource): string {
  const id = maker.resource_id;
  if (maker.module === module) return `made by ${id}: add it to requires`;
  return `made by ${maker.module}/${id}: let module ${module} require ${maker.module}`;
}

/** Whether a resource makes what is missing, or something below it on the way to what was asked for. */
function makes(
  resource: ResolvedResource,
  { missing, path }: { missing: string; path: string },
  { types }: Pick<StateRun, "types">,
): boolean {
  const { target } = read(resource, types);
  if (!target || !isWanted(resource)) return false;
  const { type, spec } = target;
  const paths = pathsOf(target).filter((each) => isWithin(each, missing) && isWithin(path, each));
  if (paths.length === 0) return false;
  // Who edits a part of a file does not bring the file.
  const edits = type.edits?.(spec);
  return !edits || edits.some((edit) => edit.isWhole === true && paths.includes(edit.of));
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
