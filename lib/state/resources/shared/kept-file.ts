/** What a file or a folder had beside its content, for types that keep the content themselves: so that it comes back as it was. */
import { z } from "zod";
import type { FileAttributes, Host } from "../../../host/host.ts";
import type { JsonObject } from "../../../json.ts";
import type { Prior } from "../../resource-type.ts";
import type { Change } from "../../result.ts";
import { captureAttributes, compareAttributes, ownerNumbersShape, toFileAttributes } from "./attributes.ts";
import { captureAllExtras, captureExtras, compareExtras, extrasSchema } from "./extras.ts";
import { addMissing } from "./later-prior.ts";
import { accountSchema, modeSchema } from "./properties.ts";

/** Mode, owner and extras of a file that stood before. */
export const keptFileSchema = z.strictObject({
  mode: modeSchema,
  owner: accountSchema,
  group: accountSchema,
  ...ownerNumbersShape,
  extras: extrasSchema.optional(),
});

export type KeptFile = z.infer<typeof keptFileSchema>;

/** What the file at a path has beside its content; null where there is none. */
export function captureKept(path: string, host: Host): JsonObject | null {
  const stat = host.files.stat(path);
  if (stat?.kind !== "file") return null;
  return { ...captureAttributes(stat, host), ...(captureExtras(path, host.files) as JsonObject) };
}

/** How a file is written: one that comes back gets what it had, another that stands keeps what it has, a new one is "0644". */
export function keptAttributes(path: string, kept: KeptFile | null | undefined, host: Host): FileAttributes {
  if (kept) return { ...toFileAttributes(kept, host), extras: kept.extras ?? {} };
  return host.files.stat(path)?.kind === "file" ? {} : { mode: 0o644 };
}

/** What a file that stands has beside its content, and did not have before us. */
export function keptChanges(path: string, kept: KeptFile | null | undefined, host: Host): Change[] {
  const stat = host.files.stat(path);
  if (!kept || stat?.kind !== "file") return [];
  return [...compareAttributes(kept, stat, host), ...compareExtras(path, kept.extras ?? {}, host.files)];
}

/** What a prior says of a folder that was there before what was put into it, and had nothing of that in it. */
export const keptFolderShape = {
  /** The folder was there before, and stays. */
  keep_folder: z.boolean().optional(),
  /** What it had, for where a version that was absent took it along. */
  folder: keptFileSchema.optional(),
};

interface KeptFolder {
  path: string;
  keep_folder?: boolean | undefined;
  folder?: KeptFile | undefined;
}

/** The folder at a path, as a part of a prior. */
export function captureKeptFolder(path: string, host: Host): JsonObject {
  const stat = host.files.stat(path);
  const folder = stat && {
    ...captureAttributes(stat, host),
    ...(captureExtras(path, host.files) as JsonObject),
  };
  return { keep_folder: true, ...(folder && { folder }) };
}

/**
 * All of a folder of which only what was declared was noted first, where a later version of another type takes it away; none where that
 * makes it anew.
 */
export function extendKeptFolder(
  prior: Prior,
  { path, ensure }: { path: string; ensure: "present" | "absent" },
  host: Host,
): Prior {
  if (prior.type !== "directory" || prior.spec["only_if_there"] !== true) return prior;
  const stat = host.files.stat(path);
  if (!stat) return { type: "directory", spec: { path, ensure: "absent", only_if_empty: true } };
  if (stat.kind !== "directory" || ensure === "present") return prior;
  const extras = captureAllExtras(path, host.files) as JsonObject;
  const spec = { path, ensure: "present", ...captureAttributes(stat, host), ...extras };
  return addMissing(prior, { type: "directory", spec });
}

/** The change of a folder that is not there any more and is to come back; none where somebody took away what it stood in, too. */
export function keptFolderChanges({ path, keep_folder, folder }: KeptFolder, { files }: Host): Change[] {
  const above = path.slice(0, path.lastIndexOf("/")) || "/";
  if (keep_folder !== true || !folder || !files.stat(above)) return [];
  return [{ property: "folder", before: "absent", after: "present" }];
}

/** Makes such a folder as it was. */
export function makeKeptFolder({ path, folder }: KeptFolder, host: Host): void {
  if (!folder) return;
  host.files.makeDirectory(path, { ...toFileAttributes(folder, host), extras: folder.extras ?? {} });
}
