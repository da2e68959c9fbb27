/** The folders above a folder: made where they are missing, and taken away again while nothing else is in them. */
import { z } from "zod";
import type { Host } from "../../../host/host.ts";
import type { Prior } from "../../resource-type.ts";
import { obstacle } from "../shared/obstacle.ts";
import { pathSchema } from "../shared/properties.ts";

/** More folders than a path can have above it. */
const maxParents = 2048;

/** Folders that were made above one, the topmost first. */
export const madeParentsSchema = z.array(pathSchema).max(maxParents).optional();

/** Mode of a folder that is made on the way. */
const parentMode = 0o755;

/** The folders above a path that are not there, the topmost first. */
export function missingParents(path: string, host: Host): string[] {
  const missing: string[] = [];
  for (let at = parentOf(path); at !== "/"; at = parentOf(at)) {
    const stat = host.files.stat(at);
    // What a link leads to shows when the next folder is made below it.
    if (stat && stat.kind !== "directory" && stat.kind !== "symlink") throw obstacle(at, stat);
    if (stat) break;
    missing.unshift(at);
  }
  return missing;
}

/** Makes those that are missing, and looks at the signal after each. */
export function makeParents(path: string, host: Host, signal: AbortSignal): void {
  for (const parent of missingParents(path, host)) {
    host.files.makeDirectory(parent, { mode: parentMode });
    signal.throwIfAborted();
  }
}

/**
 * Those of some folders above a path that hold nothing but each other and the path, the innermost first: they go with it.
 *
 * @param made - The topmost first.
 */
export function emptyParents(path: string, made: readonly string[], host: Host): string[] {
  const empty: string[] = [];
  let inner = path;
  for (const parent of made.toReversed()) {
    // One that is gone already is no reason to leave those above it.
    const kind = host.files.stat(parent)?.kind;
    if (kind === "directory") {
      if (host.files.list(parent).some((name) => `${parent}/${name}` !== inner)) break;
      empty.push(parent);
    } else if (kind !== undefined) {
      break;
    }
    inner = parent;
  }
  return empty;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** What stood before was without these folders, too: those that are missing now, beside those that we made already. */
export function withMissingParents(prior: Prior, path: string, host: Host): Prior {
  const known = madeParentsSchema.parse(prior.spec["made_parents"]) ?? [];
  const made = new Set([...known, ...missingParents(path, host)]);
  if (made.size === known.length) return prior;
  // The topmost is the shortest: all of them lead to one path.
  const made_parents = [...made].sort((a, b) => a.length - b.length);
  return { ...prior, spec: { ...prior.spec, made_parents } };
}
