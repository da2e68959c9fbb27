/** What resources have in common that own a part of a text file: the part comes and goes, the file mostly stays. */
import { hostError } from "../../../host/host-error.ts";
import type { FileAttributes, FileStat } from "../../../host/host.ts";
import type { Host } from "../../../host/host.ts";
import type { Action, Change } from "../../result.ts";
import { diffText } from "../../text-diff.ts";
import type { Machine } from "./command.ts";
import { brokenLinks, linkOptions, type LinkProperties } from "./extras.ts";
import { readText } from "./text-file.ts";

interface PartProperties {
  path: string;
  /** Makes the file where there is none, with mode "0644". */
  create: boolean;
  /** The file was made for the part and goes when nothing is left in it. */
  remove_empty?: boolean | undefined;
  hard_links?: LinkProperties["hard_links"];
}

/** The text before and after; null = no file. */
interface Edit {
  text: string | null;
  edited: string;
  host: Host;
}

/** What changes with a part: itself, with a diff of the file, and before it the file where that comes or goes. */
export function partChanges(spec: PartProperties, part: Change, { text, edited, host }: Edit): Change[] {
  const diff = diffText(spec.path, Buffer.from(text ?? ""), Buffer.from(edited));
  const change = diff === null ? part : { ...part, diff };
  if (text === null) return [{ property: "ensure", before: "absent", after: "present" }, change];
  if (!leavesNothing(spec, edited)) return [change, ...brokenLinks(host.files.stat(spec.path), spec)];
  return [{ property: "ensure", before: "present", after: "absent" }, change];
}

/** The change of a file that was made for a part, and in which a later version of it left nothing. */
export function emptyPartChanges(spec: PartProperties, text: string | null): Change[] {
  return text === "" && leavesNothing(spec, text)
    ? [{ property: "ensure", before: "present", after: "absent" }]
    : [];
}

/** Writes the text as it is to be, or removes the file. `HOST_ERROR` where there is none and none may be made. */
export function applyPart(
  spec: PartProperties,
  edit: (text: string | null) => string,
  { host, signal }: Machine,
): void {
  const stat = host.files.stat(spec.path);
  const text = stat && readText(spec.path, { files: host.files, expected: stat });
  if (text === null && !spec.create) throw hostError(spec.path, "ENOENT");
  const edited = edit(text);
  signal.throwIfAborted();
  if (leavesNothing(spec, edited)) host.files.removeFile(spec.path);
  // What was read is for whom it was for then, whatever has taken its place meanwhile.
  else {
    const attributes = stat ? { ...attributesOf(stat), ...linkOptions(spec) } : { mode: 0o644 };
    host.files.writeFile(spec.path, Buffer.from(edited), attributes);
  }
}

/** What comes and goes is the part, whatever becomes of the file. */
export function partAction(property: string, changes: readonly Change[]): Action {
  const part = changes.find((change) => change.property === property);
  if (part?.after === null) return "remove";
  return part?.before === null ? "create" : "update";
}

function attributesOf({ mode, uid, gid }: FileStat): FileAttributes {
  return { mode, uid, gid };
}

function leavesNothing({ remove_empty }: PartProperties, edited: string): boolean {
  return remove_empty === true && edited === "";
}
