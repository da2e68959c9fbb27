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
import { andThen } from "../../internal/maybe-waiting.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { describeContent } from "./file/content.ts";
import { act } from "./shared/command.ts";
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
  identity: pathOf,
  paths: (spec) => [pathOf(spec)],
  check(spec, host, signal) {
    const path = pathOf(spec);
    const stands = readText(path, host);
    if (spec.ensure === "absent" || spec.content === undefined)
      return stands === null ? [] : [{ property: "ensure", before: "present", after: "absent" }];
    const kept = keptChanges(path, spec.kept, host);
    if (stands === spec.content) return kept;
    const describing = describeContent({ path, content: spec.content }, host.files.stat(path), {
      host,
      signal,
    });
    return andThen(describing, (content) =>
      stands === null
        ? [{ property: "ensure", before: "absent", after: "present" }, content]
        : [content, ...kept],
    );
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
  removing: { priorSchema: systemdUnitPriorSchema },
});

async function apply(
  spec: SystemdUnitSpec,
  _changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const { files } = host;
  const path = pathOf(spec);
  signal.throwIfAborted();
  if (spec.ensure === "absent" || spec.content === undefined) {
    files.removeFile(path);
    const isLast = spec.remove_empty === true && files.list(dropInFolder(spec)).length === 0;
    signal.throwIfAborted();
    if (isLast) files.removeDirectory(dropInFolder(spec));
  } else {
    if (spec.drop_in !== undefined && !files.stat(dropInFolder(spec)))
      files.makeDirectory(dropInFolder(spec), { mode: 0o755 });
    signal.throwIfAborted();
    files.writeFile(path, Buffer.from(spec.content), keptAttributes(path, spec.kept, host));
  }
  // An image that is built without systemd running reads its files when it starts.
  if (!host.isConfined && files.stat("/run/systemd/system"))
    await act({ argv: ["systemctl", "daemon-reload"] }, { host, signal });
}

function pathOf(spec: SystemdUnitSpec): string {
  return spec.drop_in === undefined ? `${folder}/${spec.name}` : `${dropInFolder(spec)}/${spec.drop_in}`;
}

function dropInFolder(spec: SystemdUnitSpec): string {
  return `${folder}/${spec.name}.d`;
}
