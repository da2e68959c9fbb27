/**
 * A symbolic link. Owns the link itself, never what it points to; the target need not exist.
 *
 * A file that stands at the path is replaced only with `force`; a folder never.
 *
 * @example
 * ```yaml
 * - { type: symlink, path: /etc/localtime, target: /usr/share/zoneinfo/UTC, force: true }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { toShownTarget } from "../../internal/link-target.ts";
import { andThen, type MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { noText } from "../text-edits.ts";
import { captureFile, captureLink, extendToFile, goneBeforeFolder, withForce } from "./file/prior.ts";
import {
  type AttributeProperties,
  compareAttributes,
  ownerNumbersShape,
  toFileAttributes,
} from "./shared/attributes.ts";
import { describeChange } from "./shared/describe.ts";
import { obstacle } from "./shared/obstacle.ts";
import { accountSchema, ensureSchema, pathSchema } from "./shared/properties.ts";

export const symlinkSchema = z
  .strictObject({
    path: pathSchema,
    ensure: ensureSchema.default("present"),
    /** Where the link points, as it is stored: absolute, or relative to the folder of the link. */
    target: z
      .string()
      .min(1)
      .max(4096)
      // eslint-disable-next-line no-control-regex -- NUL ends a path for the kernel
      .regex(/^[^\u0000]+$/)
      .optional(),
    /** Replaces a file that stands at the path; it comes back when the resource is removed. */
    force: z.boolean().default(false),
  })
  .refine((spec) => spec.ensure === "absent" || spec.target !== undefined, {
    path: ["target"],
    message: "is required",
  });

const symlinkPriorSchema = symlinkSchema.safeExtend({
  /** Whose the link was. */
  owner: accountSchema.optional(),
  group: accountSchema.optional(),
  ...ownerNumbersShape,
});

/** Properties of a `symlink`, and those of a captured one. */
export type SymlinkSpec = z.infer<typeof symlinkPriorSchema>;

export const symlinkResourceType = defineResourceType<SymlinkSpec>({
  type: "symlink",
  summary: "A symbolic link.",
  schema: symlinkSchema,
  namespace: "path",
  identity: (spec) => spec.path,
  clears: ({ ensure, path }) => (ensure === "absent" ? path : null),
  edits: ({ path, ensure }) => [noText(path, ensure)],
  check,
  apply(spec, _changes, host, signal) {
    signal.throwIfAborted();
    if (spec.ensure === "absent" || spec.target === undefined) host.files.removeFile(spec.path);
    else {
      const { mode: _every, ...owner } = toFileAttributes(ownerOf(spec), host);
      host.files.makeSymlink(spec.path, spec.target, owner);
    }
  },
  capture,
  describe: describeChange,
  removing: {
    priorSchema: symlinkPriorSchema,
    // A file of an earlier version, where nothing stood before it, gives way to nothing again as a link.
    extendPrior: (prior, { path }, host, signal) =>
      andThen(extendToFile(prior, path, { host, signal }), (extended) => withForce(extended, "file")),
    gone: ({ path }, prior) => goneBeforeFolder(path, prior, "symlink"),
  },
});

function check(spec: SymlinkSpec, host: Host): Change[] {
  const stat = host.files.stat(spec.path);
  const before = stat?.kind === "symlink" ? host.files.readLink(spec.path) : null;
  if (stat && before === null && !(stat.kind === "file" && spec.force)) throw obstacle(spec.path, stat);
  if (spec.ensure === "absent" || spec.target === undefined) {
    return stat ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  }
  if (!stat) {
    return [
      { property: "ensure", before: "absent", after: "present" },
      { property: "target", before: null, after: toShownTarget(spec.target) },
    ];
  }
  if (before === spec.target) return compareAttributes(ownerOf(spec), stat, host);
  return [{ property: "target", before: before && toShownTarget(before), after: toShownTarget(spec.target) }];
}

function ownerOf({ owner, group, uid, gid }: SymlinkSpec): AttributeProperties {
  return { owner, group, uid, gid };
}

function capture(spec: SymlinkSpec, host: Host, signal: AbortSignal): MaybeWaiting<Prior | null> {
  const stat = host.files.stat(spec.path);
  if (stat?.kind === "file") return captureFile({ path: spec.path }, stat, { host, signal });
  if (!stat) return { type: "symlink", spec: { path: spec.path, ensure: "absent", force: false } };
  return captureLink(spec.path, stat, host);
}
