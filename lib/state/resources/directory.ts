/**
 * A folder. Owns its mode and owner, never what is in it; the folder above must exist or be declared.
 *
 * Taken away only while empty: a folder that holds something is never deleted with its content.
 *
 * @example
 * ```yaml
 * - { type: directory, path: /srv/site, owner: www-data, mode: "0750" }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { captureAttributes, compareAttributes, toFileAttributes } from "./attributes.ts";
import { describeChange } from "./describe.ts";
import { obstacle } from "./obstacle.ts";
import { accountSchema, ensureSchema, modeSchema, pathSchema } from "./properties.ts";

export const directorySchema = z.strictObject({
  path: pathSchema,
  /** "absent" fails for a folder that is not empty. */
  ensure: ensureSchema.default("present"),
  /** Default for a new folder: "0755". */
  mode: modeSchema.optional(),
  owner: accountSchema.optional(),
  group: accountSchema.optional(),
});

const directoryPriorSchema = directorySchema.extend({
  /** What we made goes away only if nobody put anything into it: then it is in sync as it is. */
  only_if_empty: z.boolean().optional(),
});

/** Properties of a `directory`, and those of a captured one. */
export type DirectorySpec = z.infer<typeof directoryPriorSchema>;

export const directoryResourceType = defineResourceType<DirectorySpec>({
  type: "directory",
  summary: "A folder with its mode and owner.",
  schema: directorySchema,
  priorSchema: directoryPriorSchema,
  namespace: "path",
  identity: (spec) => spec.path,
  check,
  apply,
  capture,
  describe: describeChange,
});

function check(spec: DirectorySpec, host: Host): Change[] {
  const stat = host.files.stat(spec.path);
  if (stat && stat.kind !== "directory") throw obstacle(spec.path, stat);
  if (spec.ensure === "absent") {
    if (!stat || (spec.only_if_empty === true && host.files.list(spec.path).length > 0)) return [];
    return [{ property: "ensure", before: "present", after: "absent" }];
  }
  if (stat) return compareAttributes(spec, stat, host);
  const changes: Change[] = [{ property: "ensure", before: "absent", after: "present" }];
  for (const property of ["mode", "owner", "group"] as const) {
    const after = spec[property];
    if (after !== undefined) changes.push({ property, before: null, after });
  }
  return changes;
}

function apply(spec: DirectorySpec, changes: readonly Change[], host: Host, signal: AbortSignal): void {
  const ensure = changes.find((change) => change.property === "ensure");
  signal.throwIfAborted();
  if (ensure?.after === "absent") host.files.removeDirectory(spec.path);
  else if (ensure) host.files.makeDirectory(spec.path, { mode: 0o755, ...toFileAttributes(spec, host) });
  else host.files.setAttributes(spec.path, toFileAttributes(spec, host));
}

function capture(spec: DirectorySpec, host: Host): Prior | null {
  const stat = host.files.stat(spec.path);
  if (!stat) return { type: "directory", spec: { path: spec.path, ensure: "absent", only_if_empty: true } };
  return {
    type: "directory",
    spec: { path: spec.path, ensure: "present", ...captureAttributes(stat, host) },
  };
}
