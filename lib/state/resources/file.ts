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
import { isOrchestratorError } from "../../errors.ts";
import { mustBeNew } from "../../host/hands.ts";
import type { FileAttributes, FileComparison, FileStat, Host, WriteOptions } from "../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { hasModeOfKeys, modeEdit, type TextEdit, wholeText } from "../text-edits.ts";
import { contentToCompare, describeContent, desiredContent, forgetDescription } from "./file/content.ts";
import {
  captureDress,
  captureFile,
  captureLink,
  extendDress,
  goneBeforeFolder,
  withForce,
} from "./file/prior.ts";
import { rewriteContent, writeContent } from "./file/write.ts";
import {
  attributeShape,
  compareAttributes,
  newAttributes,
  ownerNumbersShape,
  toFileAttributes,
} from "./shared/attributes.ts";
import type { Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import {
  brokenLinks,
  compareExtras,
  extrasSchema,
  hardLinksSchema,
  noteLinks,
  withLinks,
} from "./shared/extras.ts";
import { obstacle } from "./shared/obstacle.ts";
import { argvSchema, ensureSchema, pathSchema, sha256Schema, urlSchema } from "./shared/properties.ts";

const properties = z.strictObject({
  path: pathSchema,
  ensure: ensureSchema.default("present"),
  /** The whole content, as text. Without any content an empty file is made and the content of one that stands is left. */
  content: z.string().max(1_048_576).optional(),
  /** The whole content, for what is not text. */
  content_base64: z.base64().max(1_398_104).optional(),
  /** Where the content is downloaded from; needs `sha256`. */
  source: urlSchema.optional(),
  /** What the content of `source` must be. */
  sha256: sha256Schema.optional(),
  /** `mode`: default for a new file "0644". */
  ...attributeShape,
  /** Keeps a copy of what stood before, so that it comes back on removal. Without it a removal leaves the file as it is. */
  backup: z.boolean().default(true),
  /** A program that must accept the content before the file is replaced; one argument is "%", the path of a copy to test. */
  validate: argvSchema.optional(),
  /**
   * Replaces a link that stands at the path, which comes back when the resource is removed, and a file whose extended
   * attributes or flags can't be kept.
   */
  force: z.boolean().default(false),
  /** "keep" writes a file of several names (hard links) in its place, for all of them; "break" only under this path. */
  hard_links: hardLinksSchema.optional(),
});

export const fileSchema = properties
  .refine((spec) => spec.content === undefined || spec.content_base64 === undefined, {
    path: ["content_base64"],
    message: "can't be given beside content",
  })
  .refine(
    ({ source, content, content_base64 }) =>
      source === undefined || (content ?? content_base64) === undefined,
    {
      path: ["source"],
      message: "can't be given beside content",
    },
  )
  .refine((spec) => (spec.source === undefined) === (spec.sha256 === undefined), {
    path: ["sha256"],
    message: "goes together with source",
  })
  // What is given no copy looks at the content that stands, and lets every other pass.
  .refine(({ validate }) => validate === undefined || validate.slice(1).includes("%"), {
    path: ["validate"],
    message: 'needs the argument "%", the path of the copy that is to be tested',
  });

const filePriorSchema = properties.extend({
  ...ownerNumbersShape,
  /** The content is the copy that was kept with this SHA-256. */
  content_backup: sha256Schema.optional(),
  /** What it had beside content, mode and owner. */
  extras: extrasSchema.optional(),
  /** What of them can't be given back is left out, as `force` asked for. */
  lose_extras: z.boolean().optional(),
  /** Nothing is said of the content: where no file stands any more, there is nothing to give its mode and owner back to. */
  only_if_there: z.boolean().optional(),
});

/** Properties of a `file`, those of a captured one, and what a `download` adds to its source. */
export type FileSpec = z.infer<typeof filePriorSchema> & {
  headers?: Readonly<Record<string, string>> | undefined;
  max_size_bytes?: number | undefined;
};

export const fileResourceType = defineResourceType<FileSpec>({
  type: "file",
  summary: "A file with its content, mode and owner.",
  schema: fileSchema,
  namespace: "path",
  identity: (spec) => spec.path,
  clears: ({ ensure, path }) => (ensure === "absent" ? path : null),
  edits: fileEdits,
  check,
  apply,
  capture,
  describe: describeChange,
  removing: {
    priorSchema: filePriorSchema,
    // A link of an earlier version, where nothing stood before it, gives way to nothing again as a file.
    extendPrior: (prior, spec, host, signal) =>
      andThen(
        extendDress(prior.type === "file" ? noteLinks(prior, spec, host) : prior, () =>
          capture(spec, host, signal),
        ),
        (extended) => withForce(extended, "symlink"),
      ),
    asDeclared: withLinks,
    gone: ({ path }, prior) => goneBeforeFolder(path, prior, "file"),
  },
});

function fileEdits(spec: FileSpec): TextEdit[] {
  const { path, ensure, mode } = spec;
  if (ensure === "absent") return [wholeText(path, null)];
  return hasModeOfKeys(path) ? [contentEdit(spec), ...modeEdit(path, mode)] : [contentEdit(spec)];
}

function contentEdit(spec: FileSpec): TextEdit {
  const { path } = spec;
  const content = spec.content ?? desiredContent(spec);
  if (content !== null) return wholeText(path, content);
  // What is downloaded is known on the machine alone.
  if (hasContent(spec)) return { of: path, isWhole: true, edit: null };
  return { of: path, takesAny: true, edit: (text) => text ?? (spec.only_if_there === true ? null : "") };
}

function check(spec: FileSpec, host: Host, signal: AbortSignal): MaybeWaiting<Change[]> {
  return andThen(look(spec, { host, signal }), (found) => compare(spec, found, { host, signal }));
}

function compare(spec: FileSpec, { stat, same }: FileComparison, machine: Machine): MaybeWaiting<Change[]> {
  const { host } = machine;
  if (spec.only_if_there === true && stat?.kind !== "file") return [];
  if (stat && stat.kind !== "file" && !(stat.kind === "symlink" && spec.force))
    throw obstacle(spec.path, stat);
  if (spec.ensure === "absent")
    return stat ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  if (stat?.kind === "file") {
    const changes = compareAttributes(spec, stat, host);
    if (spec.extras && spec.lose_extras !== true)
      changes.push(...compareExtras(spec.path, spec.extras, host.files));
    const links = brokenLinks(stat, spec);
    if (same)
      return links.length > 0 && renews(spec, stat, { changes, host }) ? [...links, ...changes] : changes;
    return andThen(describeContent(spec, stat, machine), (content) => [content, ...links, ...changes]);
  }
  const ensure: Change = { property: "ensure", before: stat ? "link" : "absent", after: "present" };
  const attributes = newAttributes(spec);
  if (!hasContent(spec)) return [ensure, ...attributes];
  return andThen(describeContent(spec, null, machine), (content) => [ensure, content, ...attributes]);
}

function look(spec: FileSpec, { host, signal }: Machine): MaybeWaiting<FileComparison> {
  if (spec.ensure === "absent") return { stat: host.files.stat(spec.path), same: true };
  const content = contentToCompare(spec);
  if (content) return host.files.compareFile(spec.path, content);
  const stat = host.files.stat(spec.path);
  if (stat?.kind !== "file") return { stat, same: true };
  const wanted = spec.sha256 ?? spec.content_backup;
  if (wanted === undefined) return { stat, same: true };
  const isOtherSize =
    spec.sha256 === undefined && stat.sizeBytes !== host.backups.sizeBytes(spec.content_backup ?? "");
  if (isOtherSize) return { stat, same: false };
  return andThen(host.files.hashFile(spec.path, signal), ({ sha256 }) => ({ stat, same: sha256 === wanted }));
}

function hasContent(spec: FileSpec): boolean {
  return (spec.content ?? spec.content_base64 ?? spec.content_backup ?? spec.sha256) !== undefined;
}

function apply(
  spec: FileSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): void | Promise<void> {
  signal.throwIfAborted();
  forgetDescription(spec);
  if (spec.ensure === "absent") return host.files.removeFile(spec.path);
  const attributes: FileAttributes = toFileAttributes(spec, host);
  if (spec.extras) attributes.extras = spec.extras;
  const creates = changes.some((change) => change.property === "ensure");
  if (creates) attributes.mode ??= 0o644;
  // What comes back had nothing where nothing was kept, also in a folder that gives new files something.
  if (creates && spec.content_backup !== undefined) attributes.extras ??= {};
  const options: WriteOptions = attributes;
  if (spec.hard_links === "keep") options.keepLinks = true;
  options.loseExtras = mayLose(spec);
  if (!creates && !changes.some((change) => change.property === "content")) {
    const stat = host.files.stat(spec.path);
    if (!hasContent(spec) || !stat || !mustBeNew(stat, attributes))
      return host.files.setAttributes(spec.path, options);
    // Whoever could write to it may do so again before it is copied; what is declared stays what it is.
    return rewriteContent(spec, options, { host, signal });
  }
  if (spec.content_backup !== undefined)
    return host.backups.restore(spec.content_backup, spec.path, { ...options, signal });
  return writeContent(spec, options, { host, signal });
}

/** Whether a change of mode or owner alone takes a new file, so that other names go on naming the old one. */
function renews(
  spec: FileSpec,
  stat: FileStat,
  { changes, host }: { changes: readonly Change[]; host: Host },
): boolean {
  if (changes.length === 0) return false;
  try {
    return mustBeNew(stat, toFileAttributes(spec, host));
  } catch (error) {
    // Who is not there yet is not the owner.
    if (isOrchestratorError(error)) return stat.uid !== 0;
    throw error;
  }
}

/** What comes back has `force` in any case, to take the place of a link. */
function mayLose({ content_backup, only_if_there, force, lose_extras }: FileSpec): boolean {
  const comesBack = content_backup !== undefined || only_if_there === true;
  return comesBack ? lose_extras === true : force;
}

function capture(spec: FileSpec, host: Host, signal: AbortSignal): MaybeWaiting<Prior | null> {
  const stat = host.files.stat(spec.path);
  if (!stat) return { type: "file", spec: { path: spec.path, ensure: "absent" } };
  if (stat.kind === "symlink") return captureLink(spec.path, stat, host);
  if (!spec.backup) return null;
  if (spec.ensure === "present" && !hasContent(spec)) return captureDress(spec, stat, host);
  return captureFile({ ...spec, loses: spec.force }, stat, { host, signal });
}
