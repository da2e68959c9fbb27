/** A running server as the files of a fleet folder, without what is secret. */
import { folderKinds, hasHiddenValues, mayHoldPlainSecret } from "fleetwright";
import type { FolderFile, FolderKind, PresentThing } from "fleetwright";
import type { Client } from "../client/client.ts";
import { toEntryFiles, toYaml, type Entry } from "./entry-files.ts";
import { namesFor, type NamedThing } from "./folder-names.ts";
import { movable, type Moved } from "./for-another-server.ts";
import { readServer } from "./server-things.ts";

/** How it is exported. */
export interface ExportOptions {
  /** Of the folder: what others manage is left out, unless it is for another server. */
  label: string;
  /** Whether it is for a server that has nothing yet: what others manage, too, and by no id of this one. */
  whole: boolean;
  /** Whether modules and assignments are exported that may hold a secret as it is. */
  sensitive: boolean;
}

/** What was left out, and why. */
export interface LeftOut {
  kind: FolderKind;
  name: string;
  why: string;
}

/** The files, and what is not in them. */
export interface Exported {
  files: FolderFile[];
  leftOut: LeftOut[];
}

/** Reads all that nobody or this folder manages, or all that there is. Maintenance windows that are over and that nobody manages are passed over. */
export async function exportFolder(client: Client, options: ExportOptions): Promise<Exported> {
  const { label, whole, sensitive } = options;
  const present = await readServer(client, sensitive ? null : new Set());
  const move = whole ? movable(present) : (thing: PresentThing): Moved => ({ thing });
  const files: FolderFile[] = [{ path: "fleet.yaml", text: toYaml({ label }) }];
  const leftOut: LeftOut[] = [];
  for (const kind of folderKinds) {
    const kept: PresentThing[] = [];
    for (const thing of present.filter((each) => each.kind === kind)) {
      if (thing.hasEnded && (whole || thing.managedBy === null)) continue;
      const why = whyLeftOut(thing, options);
      const moved = why === null ? move(thing) : { why };
      if ("thing" in moved) kept.push(moved.thing);
      else leftOut.push({ kind, name: thing.name, why: moved.why });
    }
    const named = namesFor(kept, label);
    if (kind === "modules") await addModules(client, { named, sensitive, files, leftOut });
    else {
      const written = toEntryFiles(kind, toEntries(named, whole));
      files.push(...written.files);
      for (const name of written.tooLarge)
        leftOut.push({ kind, name, why: "it is larger than a file may be" });
    }
  }
  return { files, leftOut };
}

function whyLeftOut(thing: PresentThing, { label, whole }: ExportOptions): string | null {
  if (!whole && thing.managedBy !== null && thing.managedBy.label !== label)
    return `the folder ${thing.managedBy.label} manages it`;
  if (!isWritable(thing.values)) return "a number or a key in it can't be kept in a file";
  const isSecret = thing.kind === "assignments" && hasHiddenValues(thing);
  return isSecret ? "a value of its params is secret" : null;
}

/** Whether a file says it again exactly as it is: large numbers and one key are refused where files are read. */
function isWritable(value: unknown): boolean {
  if (typeof value === "number") return !Number.isInteger(value) || Number.isSafeInteger(value);
  if (typeof value !== "object" || value === null) return true;
  return Object.entries(value).every(([key, inside]) => key !== "__proto__" && isWritable(inside));
}

async function addModules(
  client: Client,
  {
    named,
    sensitive,
    files,
    leftOut,
  }: { named: readonly NamedThing[]; sensitive: boolean; files: FolderFile[]; leftOut: LeftOut[] },
): Promise<void> {
  for (const { name } of named) {
    const { content } = await client.modules.get(name);
    if (sensitive || !mayHoldPlainSecret(content))
      files.push({ path: `modules/${name}.yaml`, text: content });
    else leftOut.push({ kind: "modules", name, why: "its text may hold a secret as it is" });
  }
}

function toEntries(named: readonly NamedThing[], whole: boolean): Entry[] {
  return named.map(({ name, thing, isByName }) => {
    const id = isByName || whole ? {} : { id: thing.id };
    return [name, { ...id, ...thing.values }];
  });
}
