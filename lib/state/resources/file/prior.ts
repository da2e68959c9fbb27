import type { FileStat, Host } from "../../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../../internal/maybe-waiting.ts";
import type { JsonObject } from "../../../json.ts";
import type { Prior } from "../../resource-type.ts";
import { captureAttributes } from "../shared/attributes.ts";
import type { Machine } from "../shared/command.ts";
import { captureExtras, type LinkProperties } from "../shared/extras.ts";

/** Keeps a copy of a file and says how to bring it back: content, mode, owner and extras. */
export function captureFile(
  { path, hard_links, loses = false }: { path: string; loses?: boolean } & LinkProperties,
  stat: FileStat,
  { host, signal }: Machine,
): MaybeWaiting<Prior> {
  return andThen(host.backups.save(path, { signal, expected: stat }), ({ sha256 }) => ({
    type: "file",
    spec: {
      path,
      ensure: "present",
      content_backup: sha256,
      ...captureAttributes(stat, host),
      ...(captureExtras(path, host.files) as JsonObject),
      ...(loses && { lose_extras: true }),
      ...(hard_links === "keep" && { hard_links }),
      force: true,
    },
  }));
}

/** Says how to bring a link back: where it points and whose it is. */
export function captureLink(path: string, stat: FileStat, host: Host): Prior {
  const { mode: _every, ...whose } = captureAttributes(stat, host);
  const target = host.files.readLink(path);
  return { type: "symlink", spec: { path, ensure: "present", target, ...whose, force: true } };
}

/** What was captured as another type of thing at the same path takes away also what this type puts there. */
export function withForce(prior: Prior, type: "file" | "symlink"): Prior {
  return prior.type === type && prior.spec["force"] !== true
    ? { ...prior, spec: { ...prior.spec, force: true } }
    : prior;
}

/** No file, or no link, at a path: where what stood before was a folder, which takes the place of neither. */
export function goneBeforeFolder(path: string, { type }: Prior, own: "file" | "symlink"): Prior | null {
  const spec = { path, ensure: "absent", force: false };
  return type === "directory" || type === "git" ? { type: own, spec } : null;
}

/** The copies that these need to be taken back one day: what `host.backups.prune` must keep. */
export function backupsOf(applied: Iterable<{ prior: Prior | null }>): Set<string> {
  const kept = new Set<string>();
  const note = (holder: unknown): void => {
    const sha256: unknown = (holder as { content_backup?: unknown }).content_backup;
    if (typeof sha256 === "string") kept.add(sha256);
  };
  for (const { prior } of applied) {
    if (!prior) continue;
    note(prior.spec);
    const { inside } = prior.spec;
    if (Array.isArray(inside)) for (const entry of inside) if (entry !== null) note(entry);
  }
  return kept;
}
