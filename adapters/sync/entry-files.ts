/** Entries of one kind as files that can be read again: as many as it takes. */
import { stringify } from "yaml";
import { folderKinds } from "fleetwright";
import type { FolderFile, FolderKind } from "fleetwright";
import { folderLimits } from "./read-folder.ts";

/** Half of what a file may have: people add to it. An entry that is larger has a file of its own. */
const fileBytes = folderLimits.fileBytes / 2;

/** A thing under its name in a folder, as it is written. */
export type Entry = readonly [name: string, fields: object];

/** The files of some entries, and the names of those that no file can hold. */
export interface EntryFiles {
  files: FolderFile[];
  tooLarge: string[];
}

/** Writes entries in their order, `windows.yaml` first and `windows-2.yaml` behind it. */
export function toEntryFiles(kind: FolderKind, entries: readonly Entry[]): EntryFiles {
  const tooLarge: string[] = [];
  const parts: { entries: Entry[]; bytes: number }[] = [];
  for (const entry of entries) {
    const bytes = Buffer.byteLength(toText(kind, [entry]));
    if (bytes > folderLimits.fileBytes) {
      tooLarge.push(entry[0]);
      continue;
    }
    const last = parts.at(-1);
    if (last && last.bytes + bytes <= fileBytes) {
      last.entries.push(entry);
      last.bytes += bytes;
    } else parts.push({ entries: [entry], bytes });
  }
  const files = parts.map((part, at) => {
    const path = at === 0 ? `${kind}.yaml` : `${kind}-${at + 1}.yaml`;
    return { path, text: toText(kind, part.entries) };
  });
  return { files, tooLarge };
}

/** Whether a path is one that {@link toEntryFiles} gives a file. */
export function isEntryFile(path: string): boolean {
  const [, kind, count = "2"] = /^([a-z]+?)(?:-([1-9][0-9]{0,5}))?\.yaml$/.exec(path) ?? [];
  return folderKinds.some((each) => each === kind && each !== "modules") && Number(count) > 1;
}

/** A map as YAML that says it without references. */
export function toYaml(value: object): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}

function toText(kind: FolderKind, entries: readonly Entry[]): string {
  return toYaml({ [kind]: Object.fromEntries(entries) });
}
