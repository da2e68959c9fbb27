/**
 * A file that comes from a server. Downloaded where its SHA-256 differs from the declared one, and put in its place only
 * when it is right; a part of it never stands there.
 *
 * Never follows a link at the path and never replaces one. What stood before comes back when the resource is removed. A
 * check takes the hash of the file and asks no server.
 *
 * @example
 * ```yaml
 * - type: download
 *   path: /opt/tool.tar.gz
 *   url: https://example.com/tool-1.2.tar.gz
 *   sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
 * ```
 */
import { z } from "zod";
import { defineResourceType } from "../resource-type.ts";
import { type FileSpec, fileResourceType } from "./file.ts";
import { goneBeforeFolder } from "./file/prior.ts";
import { attributeShape } from "./shared/attributes.ts";
import { describeChange } from "./shared/describe.ts";
import { ensureSchema, headersSchema, pathSchema, sha256Schema, urlSchema } from "./shared/properties.ts";

export const downloadSchema = z
  .strictObject({
    path: pathSchema,
    ensure: ensureSchema.default("present"),
    /** http or https; may hold a user and a password. */
    url: urlSchema.optional(),
    /** Always needed: without it, whoever answers in the server's place decides what stands on the machine. */
    sha256: sha256Schema.optional(),
    /** Sent to the server of `url` alone. */
    headers: headersSchema.optional(),
    /** Default: 4 GiB. */
    max_size_bytes: z.int().min(1).optional(),
    /** `mode`: default for a new file "0644". */
    ...attributeShape,
    /** Keeps a copy of what stood before, so that it comes back on removal. Without it a removal leaves the file as it is. */
    backup: z.boolean().default(true),
  })
  .refine((spec) => spec.ensure === "absent" || spec.url !== undefined, {
    path: ["url"],
    message: "is required",
  })
  .refine((spec) => spec.ensure === "absent" || spec.sha256 !== undefined, {
    path: ["sha256"],
    message: "is required",
  });

/** Properties of a `download`. */
export type DownloadSpec = z.infer<typeof downloadSchema>;

export const downloadResourceType = defineResourceType<DownloadSpec>({
  type: "download",
  summary: "A file that is downloaded and must have a known SHA-256.",
  schema: downloadSchema,
  namespace: "path",
  identity: (spec) => spec.path,
  clears: ({ ensure, path }) => (ensure === "absent" ? path : null),
  edits: (spec) => fileResourceType.edits?.(toFile(spec)) ?? [],
  check: (spec, host, signal) => fileResourceType.check(toFile(spec), host, signal),
  apply: (spec, changes, host, signal) => fileResourceType.apply(toFile(spec), changes, host, signal),
  capture: (spec, host, signal) => fileResourceType.capture(toFile(spec), host, signal),
  describe: describeChange,
  removing: {
    // As for a file.
    extendPrior: (prior, spec, host, signal) =>
      fileResourceType.removing?.extendPrior?.(prior, toFile(spec), host, signal) ?? prior,
    gone: ({ path }, prior) => goneBeforeFolder(path, prior, "file"),
  },
});

/** The same in the words of a file. */
function toFile({ url, ...rest }: DownloadSpec): FileSpec {
  return { ...rest, source: url, force: false };
}
