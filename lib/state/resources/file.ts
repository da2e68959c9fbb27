/**
 * A file: its content, mode and owner. Written atomically; what is not declared stays as it was.
 *
 * Never follows a link: one that stands at the path is replaced with `force` only, a folder never. The folder above must
 * exist or be declared. What stood before comes back when the resource is removed.
 *
 * @example
 * ```yaml
 * - type: file
 *   path: /etc/sudoers.d/deploy
 *   mode: "0440"
 *   content: "deploy ALL=(root) NOPASSWD: /usr/bin/systemctl\n"
 *   validate: [visudo, -cf, "%"]
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import type { FileComparison, Host } from "../../host/host.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { attributeShape, compareAttributes, newAttributes, toFileAttributes } from "./attributes.ts";
import { describeChange } from "./describe.ts";
import { contentToCompare, describeContent, desiredContent } from "./file-content.ts";
import { captureFile } from "./file-prior.ts";
import { obstacle } from "./obstacle.ts";
import { argvSchema, ensureSchema, pathSchema, sha256Schema } from "./properties.ts";

const properties = z.strictObject({
  path: pathSchema,
  ensure: ensureSchema.default("present"),
  /** The whole content, as text. Without any content an empty file is made and the content of one that stands is left. */
  content: z.string().max(1_048_576).optional(),
  /** The whole content, for what is not text. */
  content_base64: z.base64().max(1_398_104).optional(),
  /** `mode`: default for a new file "0644". */
  ...attributeShape,
  /** Keeps a copy of what stood before, so that it comes back on removal. Without it a removal leaves the file as it is. */
  backup: z.boolean().default(true),
  /** A program that must accept the content before the file is replaced; the argument "%" is the path of a copy to test. */
  validate: argvSchema.optional(),
  /** Replaces a link that stands at the path; it comes back when the resource is removed. */
  force: z.boolean().default(false),
});

export const fileSchema = properties.refine(
  (spec) => spec.content === undefined || spec.content_base64 === undefined,
  { path: ["content_base64"], message: "can't be given beside content" },
);

const filePriorSchema = properties.extend({
  /** The content is the copy that was kept with this SHA-256. */
  content_backup: sha256Schema.optional(),
});

/** Properties of a `file`, and those of a captured one. */
export type FileSpec = z.infer<typeof filePriorSchema>;

export const fileResourceType = defineResourceType<FileSpec>({
  type: "file",
  summary: "A file with its content, mode and owner.",
  schema: fileSchema,
  priorSchema: filePriorSchema,
  namespace: "path",
  identity: (spec) => spec.path,
  check,
  apply,
  capture,
  describe: describeChange,
});

function check(spec: FileSpec, host: Host): Change[] {
  const found = look(spec, host);
  const { stat } = found;
  if (stat && stat.kind !== "file" && !(stat.kind === "symlink" && spec.force))
    throw obstacle(spec.path, stat);
  if (spec.ensure === "absent")
    return stat ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  if (stat?.kind === "file") {
    const changes = compareAttributes(spec, stat, host);
    if (!found.same) changes.unshift(describeContent(spec, stat, host));
    return changes;
  }
  const changes: Change[] = [{ property: "ensure", before: stat ? "link" : "absent", after: "present" }];
  if (hasContent(spec)) changes.push(describeContent(spec, null, host));
  return [...changes, ...newAttributes(spec)];
}

function look(spec: FileSpec, host: Host): FileComparison {
  if (spec.ensure === "absent") return { stat: host.files.stat(spec.path), same: true };
  const content = contentToCompare(spec);
  if (content) return host.files.compareFile(spec.path, content);
  const stat = host.files.stat(spec.path);
  if (spec.content_backup === undefined || stat?.kind !== "file") return { stat, same: true };
  const sizeBytes = host.backups.sizeBytes(spec.content_backup);
  const same = stat.sizeBytes === sizeBytes && host.files.hashFile(spec.path).sha256 === spec.content_backup;
  return { stat, same };
}

function hasContent(spec: FileSpec): boolean {
  return spec.content !== undefined || spec.content_base64 !== undefined || spec.content_backup !== undefined;
}

async function apply(
  spec: FileSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  if (spec.ensure === "absent") return host.files.removeFile(spec.path);
  const attributes = toFileAttributes(spec, host);
  const creates = changes.some((change) => change.property === "ensure");
  if (!creates && !changes.some((change) => change.property === "content")) {
    return host.files.setAttributes(spec.path, attributes);
  }
  if (creates) attributes.mode ??= 0o644;
  if (spec.content_backup !== undefined)
    return host.backups.restore(spec.content_backup, spec.path, attributes);
  const content = desiredContent(spec) ?? new Uint8Array();
  if (spec.validate) await validate({ ...spec, validate: spec.validate }, content, { host, signal });
  signal.throwIfAborted();
  host.files.writeFile(spec.path, content, attributes);
}

/** Lets a program judge a copy beside the file, so that relative includes work as they will. */
async function validate(
  spec: FileSpec & { validate: NonNullable<FileSpec["validate"]> },
  content: Uint8Array,
  { host, signal }: { host: Host; signal: AbortSignal },
): Promise<void> {
  const slash = spec.path.lastIndexOf("/");
  const copy = `${spec.path.slice(0, slash)}/.${spec.path.slice(slash + 1)}.validate`;
  host.files.writeFile(copy, content, { ...toFileAttributes(spec, host), mode: 0o600 });
  try {
    const [program, ...args] = spec.validate;
    const argv = [program, ...args.map((argument) => (argument === "%" ? copy : argument))] as const;
    const { exitCode } = await host.run({ argv: [...argv] }, signal);
    if (exitCode === 0) return;
    throw new OrchestratorError("COMMAND_FAILED", {
      message: `${program} does not accept the content of ${spec.path}.`,
      details: { path: spec.path, exit_code: exitCode },
    });
  } finally {
    host.files.removeFile(copy);
  }
}

function capture(spec: FileSpec, host: Host): Prior | null {
  const stat = host.files.stat(spec.path);
  if (!stat) return { type: "file", spec: { path: spec.path, ensure: "absent" } };
  if (stat.kind === "symlink") {
    const target = host.files.readLink(spec.path);
    return { type: "symlink", spec: { path: spec.path, ensure: "present", target, force: true } };
  }
  return spec.backup ? captureFile(spec.path, stat, host) : null;
}
