/** What is in a folder and is not as it was declared: the wrong owner or mode, or there without a resource that says so. */
import { z } from "zod";
import { OrchestratorError } from "../../../errors.ts";
import type { FileStat, Host, HostFiles } from "../../../host/host.ts";
import { nextTurn } from "../../../internal/next-turn.ts";
import { listMounted } from "../mount/tables.ts";
import {
  type AttributeProperties,
  captureAttributes,
  captureDeclared,
  compareAttributes,
  ownerNumbersShape,
} from "../shared/attributes.ts";
import type { Machine } from "../shared/command.ts";
import { captureExtras, extrasSchema } from "../shared/extras.ts";
import { accountSchema, modeSchema, pathSchema, sha256Schema } from "../shared/properties.ts";
import { realPath } from "../shared/real-path.ts";
import { isSystemFolder } from "../shared/system-folders.ts";

/** More is a declaration that went wrong rather than one that is meant. */
const maxStrangers = 1000;
const maxDiffering = 10_000;

/** Stands in a name that is no UTF-8, and that nothing can be found by. */
const unnameable = "\uFFFD";

/** So many paths are looked at before others get their turn. */
const sliceLength = 200;

/** How the content of a folder is to be. */
export interface ContentSpec extends AttributeProperties {
  path: string;
  recurse: boolean;
  file_mode?: string | undefined;
  purge: boolean;
  /** Paths that other resources are about: they are left alone, with all that is below. */
  declared?: readonly string[] | undefined;
}

/** One path that is not as it should be. */
export interface Found {
  path: string;
  stat: FileStat;
}

/** What was found in a folder. */
export interface Survey {
  /** What has another owner or mode. */
  differing: Found[];
  /** What goes: what is in a folder before the folder. */
  strangers: Found[];
}

/** One path as it stood, complete enough to come back to. */
export const keptEntrySchema = z.strictObject({
  path: pathSchema,
  kind: z.enum(["file", "directory", "symlink", "other"]),
  mode: modeSchema.optional(),
  owner: accountSchema.optional(),
  group: accountSchema.optional(),
  ...ownerNumbersShape,
  /** It was not purged, and nothing is said of what was left alone: where it is gone by then, nothing comes back. */
  only_if_there: z.boolean().optional(),
  /** The copy of a file that was purged. */
  content_backup: sha256Schema.optional(),
  /** What a file or folder that was purged had beside mode and owner; absent = nothing. */
  extras: extrasSchema.optional(),
  /** Of a link. */
  target: z.string().max(4096).optional(),
});

export type KeptEntry = z.infer<typeof keptEntrySchema>;

/** Looks at everything in the folder. Follows no link and crosses no mount point. */
export async function surveyContent(spec: ContentSpec, host: Host, signal: AbortSignal): Promise<Survey> {
  const declared = new Set(spec.declared);
  const real = realPath(spec.path, host);
  if (isSystemFolder(real)) throw systemFolder(spec.path, real);
  const search: Search = {
    spec,
    host,
    signal,
    files: host.files.below(spec.path),
    declared,
    ways: new Set([...declared].flatMap((path) => foldersAbove(path, spec.path))),
    mounted: mountedBelow(spec.path, real, host),
    found: { differing: [], strangers: [] },
    looked: 0,
  };
  await lookInto(spec.path, search);
  return search.found;
}

/** What is mounted below the folder, by paths as the folder is written: the kernel knows no link on the way to it. */
function mountedBelow(path: string, real: string, host: Host): Set<string> {
  const below = listMounted(host).filter((entry) => entry.path.startsWith(`${real}/`));
  return new Set(below.map((entry) => path + entry.path.slice(real.length)));
}

/** Which folder it is shows on the machine alone, where a link leads to it. */
function systemFolder(path: string, real: string): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", {
    message: `${path} is ${real}, a folder of the system: recurse and purge are refused.`,
    details: { path, real_path: real },
  });
}

interface Search {
  spec: ContentSpec;
  host: Host;
  signal: AbortSignal;
  files: HostFiles;
  declared: ReadonlySet<string>;
  /** Folders that lead to something declared. */
  ways: ReadonlySet<string>;
  mounted: ReadonlySet<string>;
  found: Survey;
  looked: number;
}

async function lookInto(folder: string, search: Search): Promise<void> {
  const { spec, host, files, found } = search;
  for (const name of files.list(folder)) {
    const path = `${folder}/${name}`;
    if (search.declared.has(path) || search.mounted.has(path)) continue;
    const stat = await look(path, search);
    if (!stat) continue;
    if (spec.purge && !search.ways.has(path)) {
      await collectStranger({ path, stat }, search);
      continue;
    }
    const isFolder = stat.kind === "directory";
    if (spec.recurse) {
      if (compareAttributes(attributesFor(spec, stat), stat, host).length > 0) {
        found.differing.push({ path, stat });
        refuseTooMany(spec.path, found);
      }
    }
    if (isFolder) await lookInto(path, search);
  }
}

/** Adds a path and all below it; false where something in there can't go, so that the folder stays too. */
async function collectStranger({ path, stat }: Found, search: Search): Promise<boolean> {
  // Sockets, pipes and devices belong to whoever listens there, and could not be brought back.
  if (stat.kind === "other" || search.mounted.has(path)) return false;
  let goes = true;
  if (stat.kind === "directory") {
    for (const name of search.files.list(path)) {
      const inner = await look(`${path}/${name}`, search);
      const isInTheWay = inner
        ? !(await collectStranger({ path: `${path}/${name}`, stat: inner }, search))
        : name.includes(unnameable);
      if (isInTheWay) goes = false;
    }
  }
  if (!goes) return false;
  search.found.strangers.push({ path, stat });
  refuseTooMany(search.spec.path, search.found);
  return true;
}

async function look(path: string, search: Search): Promise<FileStat | null> {
  search.looked += 1;
  if (search.looked % sliceLength === 0) {
    await nextTurn();
    search.signal.throwIfAborted();
  }
  return search.files.stat(path);
}

/** What is declared for a path of this kind. A link has no mode of its own. */
export function attributesFor(
  { mode, file_mode, owner, group }: ContentSpec,
  { kind }: FileStat,
): AttributeProperties {
  if (kind === "symlink") return { owner, group };
  return { mode: kind === "directory" ? mode : file_mode, owner, group };
}

/** What must be noted to bring this back; copies of the files that go are kept. */
export async function keepContent(
  { differing, strangers }: Survey,
  spec: ContentSpec,
  { host, signal }: Machine,
): Promise<KeptEntry[]> {
  const { path: folder } = spec;
  // Whose the folder is may have put links and other files into it since it was looked at.
  const files = host.files.below(folder);
  const backups = host.backups.below(folder);
  const kept: KeptEntry[] = [];
  const keep = ({ path, stat }: Found, content_backup?: string): void => {
    const { kind } = stat;
    const target = kind === "symlink" ? { target: files.readLink(path) } : {};
    const copy = content_backup === undefined ? {} : { content_backup };
    kept.push({
      path,
      kind,
      ...captureAttributes(stat, host),
      ...copy,
      ...target,
      ...captureExtras(path, files),
    });
  };
  // A folder comes back before what was in it.
  for (const found of strangers.toReversed()) {
    signal.throwIfAborted();
    if (found.stat.kind !== "file") keep(found);
    else keep(found, (await backups.save(found.path, { expected: found.stat, signal })).sha256);
  }
  for (const { path, stat } of differing) {
    const declared = captureDeclared(attributesFor(spec, stat), stat, host);
    kept.push({ path, kind: stat.kind, only_if_there: true, ...declared });
  }
  return kept;
}

/** What was noted first, and beside it what a later version would change or take away too. A folder stands before what is in it. */
export function addKept(
  inside: readonly KeptEntry[],
  found: readonly KeptEntry[],
  most: number,
): KeptEntry[] {
  const all = new Map(inside.map((entry) => [entry.path, entry]));
  for (const entry of found) {
    const known = all.get(entry.path);
    // What was noted whole is all that there is to come back to; and nothing that was noted gives way to what comes.
    if (known ? known.only_if_there !== true : all.size >= most) continue;
    const { only_if_there: isPart, ...noted } = known?.kind === entry.kind ? known : {};
    all.set(entry.path, {
      ...entry,
      ...noted,
      ...(isPart && entry.only_if_there && { only_if_there: true }),
    });
  }
  return [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

function foldersAbove(path: string, top: string): string[] {
  const folders: string[] = [];
  for (let at = path.lastIndexOf("/"); at > top.length; at = path.lastIndexOf("/", at - 1)) {
    folders.push(path.slice(0, at));
  }
  return folders;
}

/** As soon as there are too many: what is below might be without end. */
function refuseTooMany(path: string, { differing, strangers }: Survey): void {
  if (strangers.length <= maxStrangers && differing.length <= maxDiffering) return;
  const [limit, what] =
    strangers.length > maxStrangers
      ? [maxStrangers, "purged"]
      : [maxDiffering, "given another owner or mode"];
  throw new OrchestratorError("HOST_ERROR", {
    message: `More than ${limit} paths in ${path} would have to be ${what}; no more are, in one run.`,
    details: { path, limit },
  });
}
