/**
 * What an archive holds, extracted into a folder. Owns the files that it extracted, never what else is in the folder.
 *
 * What was extracted is written down in the folder (`.fleetwright-archive`): a check compares each file with it, and a
 * removal takes away what is named there and nothing else. An archive with absolute names, names or links that lead out of the
 * folder, or something special in it is refused before anything is extracted, and so are one that would replace what
 * somebody else put there, and one that unpacks to more than `max_bytes`. Needs GNU tar, or unzip.
 *
 * @example
 * ```yaml
 * - { type: archive, path: /opt/tool, source: /opt/tool-1.2.tar.gz, strip_components: 1 }
 * ```
 */
import { z } from "zod";
import { isOrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { noText } from "../text-edits.ts";
import { downloadIn, extractInto, hashSource, removeExtracted } from "./archive/extract.ts";
import { formatOf } from "./archive/program.ts";
import { contentOf, eachEntry, readStamp, saidOf, type Stamp } from "./archive/stamp.ts";
import { toFileAttributes } from "./shared/attributes.ts";
import type { Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import { captureKeptFolder, keptFolderChanges, keptFolderShape, makeKeptFolder } from "./shared/kept-file.ts";
import { obstacle } from "./shared/obstacle.ts";
import { accountSchema, ensureSchema, pathSchema, sha256Schema, urlSchema } from "./shared/properties.ts";

const properties = z.strictObject({
  /** The folder to extract into; made with mode "0755" where there is none. One archive a folder. */
  path: pathSchema,
  ensure: ensureSchema.default("present"),
  /** A path of the machine, or an http or https address, which needs `sha256`. */
  source: z.union([pathSchema, urlSchema]).optional(),
  /** What the archive must be. */
  sha256: sha256Schema.optional(),
  /** Default: what the name of `source` says. */
  format: z.enum(["tar", "tar.gz", "tar.xz", "zip"]).optional(),
  /** Leading parts of each name to leave out; not for zip. */
  strip_components: z.int().min(0).max(64).default(0),
  /** Most bytes that the extracted files may have together; what holds more is refused before anything is extracted. */
  max_bytes: z.int().min(1).default(4_294_967_296),
  owner: accountSchema.optional(),
  group: accountSchema.optional(),
});

export const archiveSchema = properties
  .refine((spec) => spec.ensure === "absent" || spec.source !== undefined, {
    path: ["source"],
    message: "is required",
  })
  .refine((spec) => spec.source?.startsWith("/") !== false || spec.sha256 !== undefined, {
    path: ["sha256"],
    message: "is required for an address",
  })
  .refine(({ source, format }) => source === undefined || (format ?? formatOf(source)) !== null, {
    path: ["format"],
    message: "is required where the name of the source does not tell it",
  })
  .refine((spec) => spec.strip_components === 0 || (spec.format ?? formatOf(spec.source ?? "")) !== "zip", {
    path: ["strip_components"],
    message: "is not for zip",
  });

const archivePriorSchema = properties.extend({
  ...keptFolderShape,
  /** An archive was fetched into it and no further: not the same as without. */
  fetched: z.boolean().optional(),
  /** Paths in the folder that are another resource's by now, and stay. */
  staying: z.array(z.string()).optional(),
  /** What others say of paths in the folder. */
  said: z.record(z.string(), z.array(z.string())).optional(),
});

/** Properties of an `archive`, and those of a captured one. */
export type ArchiveSpec = z.infer<typeof archivePriorSchema>;

export const archiveResourceType = defineResourceType<ArchiveSpec>({
  type: "archive",
  summary: "The content of an archive, extracted into a folder.",
  schema: archiveSchema,
  checksWithPrograms: true,
  identityBeginsWithPath: true,
  identity: (spec) => spec.path,
  edits: ({ path, ensure }) => (ensure === "present" ? [noText(path, ensure)] : []),
  check,
  async apply(spec, _changes, host, signal) {
    signal.throwIfAborted();
    if (spec.ensure === "absent") await takeAway(spec, { host, signal });
    else await extractInto(spec, { host, signal });
  },
  capture,
  describe: describeChange,
  action(changes) {
    const archive = changes.find((change) => change.property === "archive");
    if (archive?.after === null) return "remove";
    return archive?.before === null ? "create" : "update";
  },
  planning: {
    async foresee(spec, _changes, host, signal) {
      if (spec.ensure === "absent") return takeAway(spec, { host, signal });
      const { path, source = "" } = spec;
      const owner = toFileAttributes({ owner: spec.owner, group: spec.group }, host);
      if (!host.files.stat(path)) host.files.makeDirectory(path, { mode: 0o755, ...owner });
      // What is in it is not listed: that may take as long as extracting it.
      if (source.startsWith("/")) await hashSource(spec, { host, signal });
      else await host.askDownload?.({ url: source }, signal);
    },
    unknownAfterApply: (spec) => (spec.ensure === "present" ? spec.path : null),
    withDeclaredPaths(spec, paths, said) {
      const inside = (some: readonly string[]): string[] =>
        some.filter((path) => path.startsWith(`${spec.path}/`));
      const entries = Object.entries(said).map(([what, of]) => [what, inside(of)] as const);
      return { ...spec, staying: inside(paths), said: Object.fromEntries(entries) };
    },
  },
  removing: {
    priorSchema: archivePriorSchema,
    withStaying(spec, { pathsIn }) {
      const staying = spec.ensure === "absent" ? [...pathsIn(spec.path)] : [];
      return { ...spec, staying, ...(staying.includes(spec.path) && { keep_folder: true }) };
    },
  },
});

async function check(spec: ArchiveSpec, host: Host, signal: AbortSignal): Promise<Change[]> {
  const stat = host.files.stat(spec.path);
  if (stat && stat.kind !== "directory") throw obstacle(spec.path, stat);
  const stamp = stat ? readStamp(host.files, spec.path) : null;
  const before = stamp && `sha256:${stamp.sha256}`;
  if (spec.ensure === "absent") {
    const isLeft = stat !== null && spec.keep_folder !== true && host.files.list(spec.path).length === 0;
    if (stamp || isLeft || (stat && hasFetched(spec.path, host)))
      return [{ property: "archive", before, after: null }];
    return stat ? [] : keptFolderChanges(spec, host);
  }
  const wanted = await wantedSha256(spec, stamp, { host, signal });
  if (!stamp || stamp.sha256 !== wanted) {
    return [{ property: "archive", before, after: wanted === null ? "not there yet" : `sha256:${wanted}` }];
  }
  if (stamp.strip_components !== spec.strip_components) {
    const [from, to] = [stamp.strip_components, spec.strip_components];
    return [{ property: "strip_components", before: from, after: to }];
  }
  if (!stamp.complete)
    return [{ property: "entries", before: "not all extracted", after: "as in the archive" }];
  const differing = await compareEntries(spec, stamp, { host, signal });
  if (differing.length > 0 || !host.files.stat(downloadIn(spec.path))) return differing;
  // Whoever extracted it could not take that away, or was killed before.
  return [{ property: "download", before: "left behind", after: null }];
}

/** The archive that is wanted. One that is not on the machine any more is the one that was extracted. */
async function wantedSha256(
  spec: ArchiveSpec,
  stamp: Stamp | null,
  { host, signal }: Machine,
): Promise<string | null> {
  const { source = "", sha256 } = spec;
  if (sha256 !== undefined) return sha256;
  if (host.files.stat(source)) return (await host.files.hashFile(source, signal)).sha256;
  return stamp?.sha256 ?? null;
}

async function compareEntries(spec: ArchiveSpec, stamp: Stamp, machine: Machine): Promise<Change[]> {
  const files = machine.host.files.below(spec.path);
  const differing = { entries: 0, mode: 0, owner: 0, group: 0 };
  const ids = accountIds(spec, machine.host);
  const isOthers = saidOf(spec);
  await eachEntry(stamp.entries, machine, async ({ name, kind, content, mode }) => {
    const path = `${spec.path}/${name}`;
    if (isOthers("absent", path)) return;
    const stat = files.stat(path);
    // Something must be there: a line is to be added to what the archive brought.
    const isTheirs = stat !== null && isOthers("content", path);
    if (stat?.kind === "directory" && kind !== "folder" && !spec.staying?.includes(path))
      throw obstacle(path, stat);
    if (!isTheirs && (await contentOf(files, { path, kind }, machine)) !== content) {
      differing.entries += 1;
      return;
    }
    if (stat?.kind !== statKinds[kind] || kind === "link") return;
    const differs = (what: "mode" | "owner" | "group", wanted?: number, found?: number): boolean =>
      wanted !== undefined && wanted !== found && !isOthers(what, path);
    if (differs("mode", mode, stat.mode)) differing.mode += 1;
    if (spec.owner !== undefined && differs("owner", ids.uid ?? -1, stat.uid)) differing.owner += 1;
    if (spec.group !== undefined && differs("group", ids.gid ?? -1, stat.gid)) differing.group += 1;
  });
  const changes: Change[] = [];
  for (const [property, after] of [
    ["entries", "as in the archive"],
    ["mode", "as in the archive"],
    ["owner", spec.owner],
    ["group", spec.group],
  ] as const) {
    const count = differing[property];
    if (count > 0) changes.push({ property, before: `${count} differ`, after: after ?? null });
  }
  return changes;
}

const statKinds = { file: "file", folder: "directory", link: "symlink" } as const;

/** An account that is made later in the run differs from every one that is there. */
function accountIds(spec: ArchiveSpec, host: Host): { uid?: number; gid?: number } {
  try {
    return toFileAttributes({ owner: spec.owner, group: spec.group }, host);
  } catch (error) {
    if (isOrchestratorError(error)) return {};
    throw error;
  }
}

function capture(spec: ArchiveSpec, host: Host): Prior | null {
  const { path } = spec;
  const stat = host.files.stat(path);
  // What an archive put there before is overwritten, and the archive itself may be gone.
  if (stat && readStamp(host.files, path)) return null;
  const folder = stat && {
    ...captureKeptFolder(path, host),
    ...(hasFetched(path, host) && { fetched: true }),
  };
  return { type: "archive", spec: { path, ensure: "absent", ...folder } };
}

/** Whether an archive is in the folder itself: one of whoever was killed before it was extracted, or could not take it away. */
function hasFetched(path: string, { files }: Host): boolean {
  return files.stat(downloadIn(path))?.kind === "file";
}

/** Takes what was extracted away. A folder that was there before comes back where an archive that was to be absent took it along. */
async function takeAway(spec: ArchiveSpec, machine: Machine): Promise<void> {
  if (!machine.host.files.stat(spec.path)) return makeKeptFolder(spec, machine.host);
  await removeExtracted(spec, machine);
}
