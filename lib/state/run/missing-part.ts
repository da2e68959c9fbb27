import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { ResourceTypes } from "../resource-type.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import { realPath } from "../resources/shared/real-path.ts";
import { watchedIds } from "../triggers.ts";
import { read } from "./prepared.ts";
import { isWanted } from "./shared-things.ts";
import { pathsOf } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

type Within = Pick<StateRun, "desired" | "mode" | "types">;

/**
 * A machine that misses something tells the whole path that it was asked for. What is missing may be a folder far above: the
 * error names that, since it is what somebody has to make, and the resource of the run that would make it, since that has to come first.
 */
export function nameMissing(
  error: unknown,
  host: Host,
  { resource, run }: { resource: ResolvedResource; run: Within },
): unknown {
  if (!isOrchestratorError(error, "HOST_ERROR")) return error;
  const { errno, path } = error.details;
  if (errno !== "ENOENT" || typeof path !== "string" || !path.startsWith("/")) return error;
  const missing = topmostMissing(path, host);
  if (missing === null) return error;
  const advice = adviceOn(missing, resource, run);
  if (missing === path && advice === "") return error;
  const message = `missing: ${missing}${advice}`;
  return new OrchestratorError("HOST_ERROR", { message, details: error.details, cause: error });
}

/** Who would make it first, if only it was required; empty where nobody would, or where nothing has an order. */
function adviceOn(missing: string, resource: ResolvedResource, run: Within): string {
  if (run.mode === "check") return "";
  const { byKey, makers } = indexOf(run);
  // What is taken away comes first, and can wait for nothing.
  if (byKey.get(resourceKey(resource)) !== resource) return "";
  const isFree = (maker: ResolvedResource): boolean =>
    !waitsFor(maker, resource, byKey) && !waitsFor(resource, maker, byKey);
  const maker = makers.get(missing)?.find(isFree);
  if (!maker) return "";
  const { module, resource_id: id } = maker;
  if (module === resource.module) return ` (made by ${id}: add it to requires)`;
  return ` (made by ${module}/${id}: let module ${resource.module} require ${module})`;
}

interface Index {
  byKey: ReadonlyMap<string, ResolvedResource>;
  /** The resources that bring what stands at a path. */
  makers: ReadonlyMap<string, readonly ResolvedResource[]>;
}

/** Worked out once for a run, and only where something is missing. */
const indexes = new WeakMap<readonly ResolvedResource[], Index>();

function indexOf({ desired, types }: Within): Index {
  const known = indexes.get(desired);
  if (known) return known;
  const makers = new Map<string, ResolvedResource[]>();
  for (const resource of desired)
    for (const path of madeBy(resource, types)) {
      const others = makers.get(path);
      if (others) others.push(resource);
      else makers.set(path, [resource]);
    }
  const index = { byKey: new Map(desired.map((each) => [resourceKey(each), each])), makers };
  indexes.set(desired, index);
  return index;
}

function madeBy(resource: ResolvedResource, types: ResourceTypes): readonly string[] {
  const { target } = read(resource, types);
  if (!target || !isWanted(resource)) return [];
  const paths = pathsOf(target);
  const edits = target.type.edits?.(target.spec);
  // Who edits a part of a file does not bring the file.
  const whole = new Set(edits?.flatMap(({ of, isWhole }) => (isWhole === true ? [of] : [])));
  if (edits) return paths.filter((path) => whole.has(path));
  // Several are the places of several kinds of machines.
  return paths.length === 1 ? paths : [];
}

/** Whether a resource is another or waits for it already, directly or through others. */
function waitsFor(resource: ResolvedResource, other: ResolvedResource, byKey: Index["byKey"]): boolean {
  const { module } = resource;
  if (module !== other.module) return resource.requires_modules?.includes(other.module) === true;
  const reached = new Set([resource.resource_id]);
  for (const resource_id of reached) {
    const each = byKey.get(resourceKey({ module, resource_id }));
    for (const id of each ? [...each.requires, ...watchedIds(each)] : []) reached.add(id);
  }
  return reached.has(other.resource_id);
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
