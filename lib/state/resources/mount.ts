/**
 * A file system and the folder that it is mounted on. Owns its line in /etc/fstab and whether it is mounted; never the
 * folder, which must exist or be declared, and never what is in the file system.
 *
 * Linux. Who is using a file system keeps it mounted: nothing is unmounted by force.
 *
 * @example
 * ```yaml
 * - { type: mount, path: /srv/cache, device: tmpfs, fstype: tmpfs, options: [size=64m, noexec] }
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import { hostError } from "../../host/host-error.ts";
import type { Host } from "../../host/host.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { compareLive } from "./mount/compare.ts";
import {
  findFstab,
  findMounted,
  fstabPath,
  parseFstab,
  type FstabEntry,
  printFstab,
  readFstab,
} from "./mount/tables.ts";
import { act } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import {
  type Digests,
  keepLines,
  keptLineSchema,
  noDigests,
  restoreLines,
  noteEnd,
  unendedSchema,
} from "./shared/kept-lines.ts";
import { refuseConfined, requireLinux } from "./shared/platform.ts";
import { pathSchema } from "./shared/properties.ts";
import { realPath } from "./shared/real-path.ts";
import { fileChanges, writeText } from "./shared/text-file.ts";
import { insertLines, type TextLine, toText } from "./shared/text-lines.ts";

/** What never begins with a dash is never an option of mount(8). */
const wordSchema = z
  .string()
  .max(4096)
  // eslint-disable-next-line no-control-regex -- control characters would end the line
  .regex(/^[^-\u0000-\u0020\u007f][^\u0000-\u001f\u007f]*$/);

const properties = z.strictObject({
  path: pathSchema,
  /**
   * "mounted": in /etc/fstab and mounted. "unmounted": in /etc/fstab, not mounted. "present": in /etc/fstab, mounted or
   * not. "absent": neither.
   */
  ensure: z.enum(["mounted", "unmounted", "present", "absent"]).default("mounted"),
  /** What is mounted: a path, "UUID=...", "host:/export", or "tmpfs". */
  device: wordSchema.optional(),
  fstype: wordSchema.regex(/^[A-Za-z0-9_.,-]+$/).optional(),
  options: z
    .array(wordSchema.regex(/^[^,]+$/))
    .min(1)
    .max(100)
    .default(["defaults"]),
  /** Whether dump(8) saves it. */
  dump: z.number().int().min(0).max(1).default(0),
  /** When it is checked at the start: 1 first, 2 after, 0 never. */
  pass: z.number().int().min(0).max(2).default(0),
});

export const mountSchema = properties.refine(
  (spec) => spec.ensure === "absent" || (spec.device !== undefined && spec.fstype !== undefined),
  { path: ["device"], message: "is required, and so is fstype" },
);

const mountPriorSchema = properties.extend({
  /** The line of /etc/fstab as it stood; null = there was none. */
  line: z.string().max(16_384).nullable().optional(),
  /** As an older agent kept where the line stood. */
  line_index: z.number().int().min(0).optional(),
  /** The line and its place: what is mounted below another file system must come after it. */
  kept: z.array(keptLineSchema).optional(),
  /** The file had no line break at its end. */
  unended: unendedSchema.optional(),
  /** Whether it was mounted; absent = that is nobody's business. */
  mounted: z.boolean().optional(),
  /** /etc/fstab was made for it and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
});

/** Properties of a `mount`, and those of a captured one. */
export type MountSpec = z.infer<typeof mountPriorSchema>;

export const mountResourceType = defineResourceType<MountSpec>({
  type: "mount",
  summary: "A file system that is mounted on a folder, now and at every start.",
  schema: mountSchema,
  identity: (spec) => spec.path,
  pathIsName: true,
  paths: (spec) => [spec.path, fstabPath],
  edits: (spec) => [
    {
      of: fstabPath,
      isOneLine: true,
      edit(text) {
        const { lines, at } = findFstab(spec.path, text);
        if (sayTheSame(lines[at]?.text ?? null, wantedLine(spec), spec)) return text;
        return toText(edit(spec, { lines, at }, noDigests));
      },
    },
  ],
  check,
  apply,
  capture,
  describe: describeChange,
  action(changes) {
    const line = changes.find((change) => change.property === "fstab");
    const mounted = changes.find((change) => change.property === "mounted");
    if (line?.before === null || (!line && mounted?.after === true)) return "create";
    return line?.after === null || (!line && mounted?.after === false) ? "remove" : "update";
  },
  planning: {
    async foresee(spec, changes, host, signal) {
      await apply(spec, changes, host, signal);
      const turns = changes.some(({ property }) => ["mounted", "device", "fstype"].includes(property));
      // What was seen in the folder until now is not what will be: it is hidden, or goes with its file system.
      if (turns && host.files.stat(spec.path)) host.files.clear(realPath(spec.path, host));
    },
    unknownAfterApply: (spec) => (wantsMounted(spec) === true ? spec.path : null),
  },
  removing: { priorSchema: mountPriorSchema, partOf: () => fstabPath },
});

function check(spec: MountSpec, host: Host): Change[] {
  refuseConfined(host, "mount");
  requireLinux(host, "mount");
  const changes: Change[] = [];
  const { text, lines, at } = readFstab(spec.path, host);
  const line = lines[at]?.text ?? null;
  const wanted = wantedLine(spec);
  // A table that somebody took away has no place for what stood in it.
  const isGone = text === null && typeof spec.line === "string";
  if (!isGone && !sayTheSame(line, wanted, spec))
    changes.push({ property: "fstab", before: line, after: wanted });
  else if (wanted === null || spec.kept)
    changes.push(...fileChanges(spec, text, toText(edit(spec, { lines, at }, host))));
  const live = findMounted(realMountPoint(spec, host), host);
  const mounted = wantsMounted(spec);
  if (mounted !== null && mounted !== (live !== null)) {
    changes.push({ property: "mounted", before: live !== null, after: mounted });
  } else if (mounted === true && live) changes.push(...compareLive(spec, live, host));
  return changes;
}

/**
 * The path as the kernel shows it. What is to be mounted must be declared by it: systemd mounts nothing on a path through a
 * link at the start, and one folder would have two names. What goes may have any name.
 */
function realMountPoint(spec: MountSpec, host: Host): string {
  const real = realPath(spec.path, host);
  if (real === spec.path || spec.ensure === "absent" || spec.line !== undefined) return real;
  throw new OrchestratorError("HOST_ERROR", {
    message: `There is a link on the way to ${spec.path}: declare the mount with the path ${real}.`,
    details: { path: spec.path, real_path: real },
  });
}

async function apply(
  spec: MountSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const run = (argv: [string, ...string[]]): Promise<unknown> => act({ argv }, { host, signal });
  const changed = (...names: string[]): boolean => changes.some(({ property }) => names.includes(property));
  const { path, device, fstype } = spec;
  const live = findMounted(realMountPoint(spec, host), host);
  const mounted = wantsMounted(spec);
  const replaces = changed("device", "fstype");
  const makesFolder = spec.options.some((option) => /^x-mount\.mkdir(?:=|$)/i.test(option));
  if (mounted === true && !live && !makesFolder && !host.files.stat(path)) throw hostError(path, "ENOENT");
  if (live && (mounted === false || replaces)) await run(["umount", path]);
  if (mounted === true && (!live || replaces) && device !== undefined && fstype !== undefined) {
    await run(["mount", "-t", fstype, "-o", spec.options.join(","), device, path]);
  } else if (mounted === true && live && (changed("options") || changed("fstab"))) {
    const options = `remount,${withAccessTimes(spec.options)}`;
    await run(["mount", "-t", live.fstype, "-o", options, live.device, path]);
  }
  // The line comes last: what can't be mounted must not hold up the next start of the machine.
  if (!changed("fstab", "file")) return;
  signal.throwIfAborted();
  writeLine(spec, host);
}

const accessTimes = /^(?:no)?(?:atime|diratime|relatime|strictatime)$/;

/**
 * The options with what the kernel does by default where none of them is about times of access: it would go on as it does. All
 * others it forgets, where the device is named: by the path alone mount(8) adds those of the line that is about to go.
 */
function withAccessTimes(options: readonly string[]): string {
  return [...(options.some((option) => accessTimes.test(option)) ? [] : ["relatime"]), ...options].join(",");
}

function writeLine(spec: MountSpec, host: Host): void {
  const { lines, at } = readFstab(spec.path, host);
  const edited = edit(spec, { lines, at }, host);
  if (spec.remove_empty === true && edited.length === 0) host.files.removeFile(fstabPath);
  else writeText(fstabPath, toText(edited), host);
}

function edit(
  spec: MountSpec,
  { lines, at }: { lines: readonly TextLine[]; at: number },
  host: Digests,
): TextLine[] {
  const wanted = wantedLine(spec);
  const own = lines[at];
  const { kept, unended } = spec;
  if (kept || wanted === null)
    return restoreLines(lines, { isOwn: (text) => text === own?.text, kept: kept ?? [], unended }, host);
  if (!own) return insertLines(lines, spec.line_index ?? lines.length, [wanted]);
  return lines.map((line) => (line === own ? { ...line, text: wanted } : line));
}

function wantedLine(spec: MountSpec): string | null {
  if (spec.line !== undefined) return spec.line;
  const { path, device, fstype, dump, pass } = spec;
  if (spec.ensure === "absent" || device === undefined || fstype === undefined) return null;
  return printFstab({ device, path, fstype, options: spec.options.join(","), dump, pass });
}

/** Null = mounted or not, either is well. */
function wantsMounted(spec: MountSpec): boolean | null {
  if (spec.line !== undefined) return spec.mounted ?? null;
  return spec.ensure === "present" ? null : spec.ensure === "mounted";
}

/** What comes back comes back to the letter; else the blanks of a line are nobody's property. */
function sayTheSame(line: string | null, wanted: string | null, spec: MountSpec): boolean {
  if (line === null || wanted === null || spec.line !== undefined) return line === wanted;
  const [a, b] = [parseFstab(line), parseFstab(wanted)];
  return a !== null && b !== null && printFstab(a) === printFstab(b);
}

function capture(spec: MountSpec, host: Host): Prior {
  const { path } = spec;
  const { text, lines, at } = readFstab(path, host);
  const line = lines[at]?.text ?? null;
  const live = findMounted(realMountPoint(spec, host), host);
  const said: FstabEntry | null = line === null ? null : parseFstab(line);
  // What is mounted without a line comes back as the kernel shows it.
  const source = said ?? (live && { ...live, options: live.options.join(","), dump: 0, pass: 0 });
  return {
    type: "mount",
    spec: {
      path,
      ensure: "present",
      ...(source && { device: source.device, fstype: source.fstype, options: toOptions(source.options) }),
      line,
      ...(line !== null && { kept: keepLines(lines, (other) => other === line, host) }),
      ...noteEnd(lines, (other) => other === line, host),
      ...(spec.ensure !== "present" && { mounted: live !== null }),
      ...(text === null && { remove_empty: true }),
    },
  };
}

/** Two commas in a row stand for nothing between them. */
function toOptions(field: string): string[] {
  const options = field.split(",").filter((option) => option !== "");
  return options.length === 0 ? ["defaults"] : options;
}
