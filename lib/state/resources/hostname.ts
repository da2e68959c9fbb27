/**
 * The name of the machine: in `/etc/hostname`, which holds from the next start on, and in the kernel, which holds now.
 *
 * Never touches `/etc/hosts` (a `host_entry`) nor the name server.
 *
 * @example
 * ```yaml
 * - { type: hostname, name: web-1.example.org }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { extendToFile } from "./file/prior.ts";
import { act, ask, type Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import { readText, writeText } from "./shared/text-file.ts";

const path = "/etc/hostname";

const hostnamePattern =
  /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

const properties = z.strictObject({
  /** One label, or a whole domain name; 64 characters at most, which is the kernel's limit. */
  name: z.string().max(64).regex(hostnamePattern, "must be a host name"),
});

export const hostnameSchema = properties;

const hostnamePriorSchema = properties.extend({
  /** Left out for one that hostname(1) would refuse. */
  name: properties.shape.name.optional(),
  /** What stood in the file; null = there was none. */
  file: z.string().nullable().optional(),
});

/** Properties of a `hostname`, and those of a captured one. */
export type HostnameSpec = z.infer<typeof hostnamePriorSchema>;

export const hostnameResourceType = defineResourceType<HostnameSpec>({
  type: "hostname",
  summary: "The name of the machine.",
  schema: hostnameSchema,
  checksWithPrograms: true,
  identity: () => path,
  paths: () => [path],
  namespace: "path",
  edits: (spec) => [{ of: path, edit: (text) => (nameIn(text) === spec.name ? text : fileOf(spec)) }],
  async check(spec, host, signal) {
    const running = await kernelName({ host, signal });
    const stored = readText(path, host);
    const changes: Change[] = [];
    if (stored !== fileOf(spec) && (spec.file !== undefined || nameIn(stored) !== spec.name))
      changes.push({ property: "stored_name", before: nameIn(stored), after: nameIn(fileOf(spec)) });
    if (spec.name !== undefined && running !== spec.name)
      changes.push({ property: "name", before: running, after: spec.name });
    return changes;
  },
  apply,
  async capture(_spec, host, signal): Promise<Prior | null> {
    const name = await kernelName({ host, signal });
    // To a name that nobody could declare ("(none)", or with an underscore) the next start comes back, by the file.
    const isName = properties.safeParse({ name }).success;
    return { type: "hostname", spec: { ...(isName && { name }), file: readText(path, host) } };
  },
  describe: describeChange,
  removing: {
    priorSchema: hostnamePriorSchema,
    extendPrior: (prior, _spec, host, signal) => extendToFile(prior, path, { host, signal }),
  },
});

async function apply(
  spec: HostnameSpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const content = fileOf(spec);
  if (changes.some(({ property }) => property === "stored_name")) {
    signal.throwIfAborted();
    if (content === null) host.files.removeFile(path);
    else writeText(path, content, host);
  }
  if (spec.name !== undefined && changes.some(({ property }) => property === "name"))
    await act({ argv: ["hostname", spec.name] }, { host, signal });
}

function fileOf(spec: HostnameSpec): string | null {
  return spec.file === undefined ? `${spec.name ?? ""}\n` : spec.file;
}

/** The first line that is neither empty nor a comment. */
function nameIn(file: string | null): string | null {
  const lines = (file ?? "").split("\n").map((line) => line.trim());
  return lines.find((line) => line !== "" && !line.startsWith("#")) ?? null;
}

async function kernelName(machine: Machine): Promise<string> {
  return (await ask({ argv: ["uname", "-n"] }, machine)).stdout.trim();
}
