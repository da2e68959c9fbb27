/**
 * A unit of systemd, or a drop-in for one: its file, and that systemd reads it.
 *
 * Owns one file below `/etc/systemd/system`; never starts, stops or enables the unit, which is a `service`. A running
 * service keeps its old definition until it is restarted: let it name this resource in `restart_on`.
 *
 * @example
 * ```yaml
 * - id: unit
 *   type: systemd_unit
 *   name: site.service
 *   content: |
 *     [Service]
 *     ExecStart=/usr/local/bin/site
 *     [Install]
 *     WantedBy=multi-user.target
 * - { type: service, name: site, running: true, enabled: true, restart_on: [unit] }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../internal/maybe-waiting.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { wholeText } from "../text-edits.ts";
import { describeContent } from "./file/content.ts";
import { extendToFile } from "./file/prior.ts";
import { act, ask, type Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import { captureKept, keptAttributes, keptChanges, keptFileSchema } from "./shared/kept-file.ts";
import { ensureSchema } from "./shared/properties.ts";
import { readText } from "./shared/text-file.ts";

const folder = "/etc/systemd/system";

const properties = z.strictObject({
  /** With its kind: "site.service", "backup.timer". */
  name: z
    .string()
    .regex(
      /^[A-Za-z0-9_@][A-Za-z0-9_.:@\\-]{0,200}\.(service|socket|timer|path|target|mount|automount|swap|slice)$/,
      "must be the name of a unit with its kind, like site.service",
    ),
  /** Writes a drop-in of this name, e.g. "limits.conf", in place of the unit itself. */
  drop_in: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,200}\.conf$/, "must be a name that ends in .conf")
    .optional(),
  ensure: ensureSchema.default("present"),
  /** The whole file. */
  content: z.string().max(1_048_576).optional(),
});

export const systemdUnitSchema = properties.refine(
  (spec) => spec.ensure === "absent" || spec.content !== undefined,
  { path: ["content"], message: "is required" },
);

const systemdUnitPriorSchema = properties.extend({
  /** As it stood, however long. */
  content: z.string().optional(),
  /** The folder of drop-ins was made for this one and goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
  /** What its file had beside the text. */
  kept: keptFileSchema.optional(),
});

/** Properties of a `systemd_unit`, and those of a captured one. */
export type SystemdUnitSpec = z.infer<typeof systemdUnitPriorSchema>;

export const systemdUnitResourceType = defineResourceType<SystemdUnitSpec>({
  type: "systemd_unit",
  summary: "A unit of systemd, or a drop-in for one.",
  schema: systemdUnitSchema,
  namespace: "path",
  checksWithPrograms: true,
  identity: pathOf,
  paths: (spec) => [pathOf(spec)],
  edits: (spec) => [wholeText(pathOf(spec), spec.ensure === "absent" ? null : (spec.content ?? null))],
  async check(spec, host, signal) {
    const changes = await compareFile(spec, { host, signal });
    // Whoever was to have it read anew may have failed, or been killed, when the file was in place.
    const isUnread = changes.length === 0 && runsHere(host) && (await needsReload(spec, { host, signal }));
    return isUnread ? [{ property: unread, before: "older files", after: "these" }] : changes;
  },
  apply,
  capture(spec, host): Prior {
    const { name, drop_in } = spec;
    const content = readText(pathOf(spec), host);
    const which = { name, ...(drop_in !== undefined && { drop_in }) };
    if (content !== null) {
      const kept = captureKept(pathOf(spec), host);
      return { type: "systemd_unit", spec: { ...which, ensure: "present", content, ...(kept && { kept }) } };
    }
    const isNew = drop_in !== undefined && host.files.stat(dropInFolder(spec)) === null;
    return {
      type: "systemd_unit",
      spec: { ...which, ensure: "absent", ...(isNew && { remove_empty: true }) },
    };
  },
  describe: describeChange,
  removing: {
    priorSchema: systemdUnitPriorSchema,
    extendPrior: (prior, spec, host, signal) => extendToFile(prior, pathOf(spec), { host, signal }),
    // Drop-ins of one unit share a folder: the first notes that it was made for them, the last takes it away.
    partOf: (spec) => (spec.drop_in === undefined ? null : dropInFolder(spec)),
  },
});

/** The change of what systemd has read of the unit. */
const unread = "read";

function compareFile(spec: SystemdUnitSpec, machine: Machine): MaybeWaiting<Change[]> {
  const { host } = machine;
  const path = pathOf(spec);
  const stands = readText(path, host);
  if (spec.ensure === "absent" || spec.content === undefined) {
    const isThere = stands !== null || isFolderLeft(spec, host);
    return isThere ? [{ property: "ensure", before: "present", after: "absent" }] : [];
  }
  const kept = keptChanges(path, spec.kept, host);
  if (stands === spec.content) return kept;
  const describing = describeContent({ path, content: spec.content }, host.files.stat(path), machine);
  return andThen(describing, (content) =>
    stands === null
      ? [{ property: "ensure", before: "absent", after: "present" }, content]
      : [content, ...kept],
  );
}

/** Whether systemd says of the unit, or of an instance of it, that it has read other files than those that stand. */
async function needsReload({ name }: SystemdUnitSpec, machine: Machine): Promise<boolean> {
  const argv = ["systemctl", "show", "--property=NeedDaemonReload", "--", name.replace("@.", "@*.")] as const;
  // Where it can't be asked it is not there to read anything.
  const { stdout } = await ask({ argv }, machine, [0, 1]);
  return /^NeedDaemonReload=yes$/m.test(stdout);
}

/** An image that is built without systemd running reads its files when it starts. */
function runsHere({ isConfined, files }: Host): boolean {
  return !isConfined && files.stat("/run/systemd/system") !== null;
}

async function apply(
  spec: SystemdUnitSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  if (changes.some(({ property }) => property !== unread)) putFile(spec, host, signal);
  if (runsHere(host)) await act({ argv: ["systemctl", "daemon-reload"] }, { host, signal });
}

function putFile(spec: SystemdUnitSpec, host: Host, signal: AbortSignal): void {
  const { files } = host;
  const path = pathOf(spec);
  signal.throwIfAborted();
  if (spec.ensure === "absent" || spec.content === undefined) {
    if (files.stat(path)) files.removeFile(path);
    const isLast = isFolderLeft(spec, host);
    signal.throwIfAborted();
    if (isLast) files.removeDirectory(dropInFolder(spec));
  } else {
    if (spec.drop_in !== undefined && !files.stat(dropInFolder(spec)))
      files.makeDirectory(dropInFolder(spec), { mode: 0o755 });
    signal.throwIfAborted();
    files.writeFile(path, Buffer.from(spec.content), keptAttributes(path, spec.kept, host));
  }
}

/** Whether the folder that was made for a drop-in is there with nothing in it. */
function isFolderLeft(spec: SystemdUnitSpec, { files }: Host): boolean {
  if (spec.remove_empty !== true) return false;
  const place = dropInFolder(spec);
  return files.stat(place)?.kind === "directory" && files.list(place).length === 0;
}

function pathOf(spec: SystemdUnitSpec): string {
  return spec.drop_in === undefined ? `${folder}/${spec.name}` : `${dropInFolder(spec)}/${spec.drop_in}`;
}

function dropInFolder(spec: SystemdUnitSpec): string {
  return `${folder}/${spec.name}.d`;
}
