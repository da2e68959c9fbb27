/** Bringing back what was in a folder before it was purged, or before its content got another owner or mode. */
import type { Host } from "../../../host/host.ts";
import { type AttributeProperties, compareAttributes, toFileAttributes } from "../shared/attributes.ts";
import type { Machine } from "../shared/command.ts";
import type { Found, KeptEntry } from "./content.ts";

/** Whether there is nothing to bring back: it stands as it did, or something else has taken its place. */
export function isAsKept(entry: KeptEntry, folder: string, host: Host): boolean {
  const stat = host.files.below(folder).stat(entry.path);
  if (!stat && entry.only_if_there === true) return true;
  if (!stat) return entry.kind === "other" || (entry.kind === "file" && entry.content_backup === undefined);
  // What was purged is not what somebody has put in its place since.
  if (stat.kind !== entry.kind || entry.content_backup !== undefined) return true;
  return compareAttributes(attributesOf(entry), stat, host).length === 0;
}

/** Those in a folder that are not declared by others by now, and below nothing that is. */
export function notDeclared(
  entries: readonly KeptEntry[],
  folder: string,
  declared: readonly string[],
): KeptEntry[] {
  const paths = declared.filter((path) => path !== folder);
  return entries.filter(({ path }) => !paths.some((each) => `${path}/`.startsWith(`${each}/`)));
}

/** Brings one path back. */
export async function restoreEntry(
  entry: KeptEntry,
  folder: string,
  { host, signal }: Machine,
): Promise<void> {
  const { path, kind, content_backup, target, extras = {} } = entry;
  const files = host.files.below(folder);
  const attributes = toFileAttributes(attributesOf(entry), host);
  if (files.stat(path)) await files.setAttributes(path, attributes);
  else if (kind === "directory") files.makeDirectory(path, { ...attributes, extras });
  else if (kind === "symlink") files.makeSymlink(path, target ?? "", attributes);
  else if (content_backup !== undefined)
    await host.backups.below(folder).restore(content_backup, path, { ...attributes, extras, signal });
}

/** A link has no mode of its own. */
function attributesOf({ kind, mode, owner, group, uid, gid }: KeptEntry): AttributeProperties {
  const whose = { owner, group, uid, gid };
  return kind === "symlink" ? whose : { mode, ...whose };
}

/** Takes one path away. */
export function removeFound({ path, stat }: Found, folder: string, host: Host): void {
  const files = host.files.below(folder);
  if (stat.kind === "directory") files.removeDirectory(path);
  else files.removeFile(path);
}
