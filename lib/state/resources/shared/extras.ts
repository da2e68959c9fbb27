/** What a file has beside content, mode and owner: kept before it goes, and told where it can't stay. */
import { z } from "zod";
import { OrchestratorError } from "../../../errors.ts";
import type { FileExtras, FileStat, Host, HostFiles } from "../../../host/host.ts";
import type { Prior } from "../../resource-type.ts";
import type { Change } from "../../result.ts";

/** The extras of what stood before. */
export const extrasSchema = z.strictObject({
  attributes: z.record(z.string().max(255), z.base64().max(90_000)).optional(),
  flags: z.int().min(0).max(0xffff_ffff).optional(),
});

/** What becomes of the other names (hard links) of a file that is written. */
export const hardLinksSchema = z.enum(["break", "keep"]);

/** Says whether other names of a file are to go on naming it. */
export interface LinkProperties {
  hard_links?: z.infer<typeof hardLinksSchema> | undefined;
}

/** The extras of what stands, with none at all as an empty set: for what goes and must come back without. */
export function captureAllExtras(path: string, files: HostFiles): { extras?: FileExtras } {
  const extras = files.extras(path);
  return extras ? { extras } : {};
}

/** The extras of what stands at a path as a part of a prior; nothing where it has none. */
export function captureExtras(path: string, files: HostFiles): { extras?: FileExtras } {
  const extras = files.extras(path);
  return extras && hasAny(extras) ? { extras } : {};
}

/** The change of extras that are to come back; none where nothing was kept of them. */
export function compareExtras(path: string, extras: FileExtras | undefined, files: HostFiles): Change[] {
  if (!extras) return [];
  const found = files.extras(path);
  if (!found || isSame(found, extras)) return [];
  return [{ property: "extras", before: namesOf(found), after: namesOf(extras) }];
}

/** The change that a new file in the place of one with other names is; none where these are kept. */
export function brokenLinks(stat: FileStat | null, { hard_links }: LinkProperties): Change[] {
  const { links = 1 } = stat ?? {};
  if (links === 1 || hard_links === "keep") return [];
  return [{ property: "hard_links", before: links, after: 1 }];
}

/**
 * What stood before, to be written as the last version says, for all names of its file or for one; and for all where an earlier one wrote
 * for all of them.
 */
export function withLinks(prior: Prior, { hard_links }: LinkProperties): Prior {
  if (prior.type === "symlink" || hard_links !== "keep") return prior;
  return prior.spec["hard_links"] === "keep" ? prior : { ...prior, spec: { ...prior.spec, hard_links } };
}

/**
 * What stood before, noted as that of all names once a version writes for all of them. From then on a file of its own under this path
 * would leave the others with what we wrote: nobody would be left to bring back what they had.
 *
 * @throws {OrchestratorError} `HOST_ERROR` where a version would do so.
 */
export function noteLinks(prior: Prior, spec: LinkProperties & { path: string }, host: Host): Prior {
  const { path, hard_links } = spec;
  if (hard_links === "keep") return withLinks(prior, spec);
  const { links = 1 } = prior.spec["hard_links"] === "keep" ? (host.files.stat(path) ?? {}) : {};
  if (links === 1) return prior;
  throw new OrchestratorError("HOST_ERROR", {
    message: `${path} was written for its other names, too (hard_links: keep), and they would keep that for good. Keep them, or have the resource removed before.`,
    details: { path, links },
  });
}

/** How a file is written that other names may name. */
export function linkOptions({ hard_links }: LinkProperties): { keepLinks?: boolean } {
  return hard_links === "keep" ? { keepLinks: true } : {};
}

function hasAny({ attributes = {}, flags = 0 }: FileExtras): boolean {
  return flags !== 0 || Object.keys(attributes).length > 0;
}

function isSame(one: FileExtras, other: FileExtras): boolean {
  const [names, others] = [namesOf(one), namesOf(other)];
  return (
    (one.flags ?? 0) === (other.flags ?? 0) &&
    names.length === others.length &&
    names.every((name) => one.attributes?.[name] === other.attributes?.[name])
  );
}

/** Names alone: a value may be a secret, and says nothing to people. */
function namesOf({ attributes = {}, flags = 0 }: FileExtras): string[] {
  return [...Object.keys(attributes).sort(), ...(flags === 0 ? [] : ["flags"])];
}
