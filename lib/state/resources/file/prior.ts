import type { FileStat, Host } from "../../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../../internal/maybe-waiting.ts";
import type { JsonObject } from "../../../json.ts";
import type { Prior } from "../../resource-type.ts";
import { type AttributeProperties, captureAttributes, captureDeclared } from "../shared/attributes.ts";
import type { Machine } from "../shared/command.ts";
import { captureExtras, type LinkProperties } from "../shared/extras.ts";
import { addMissing } from "../shared/later-prior.ts";

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

/** Says how to bring back the mode and owner that a resource declares where it says nothing of the content. */
export function captureDress(
  { path, force, ...declared }: { path: string; force: boolean } & AttributeProperties & LinkProperties,
  stat: FileStat,
  host: Host,
): Prior {
  // A new owner, or a set-id bit, may take a new file, which need not get all that the old one had.
  const { mode = "0", owner } = declared;
  const losesExtras = owner !== undefined || (force && (Number.parseInt(mode, 8) & 0o6000) !== 0);
  return {
    type: "file",
    spec: {
      path,
      ensure: "present",
      only_if_there: true,
      ...(captureDeclared(declared, stat, host) as JsonObject),
      ...(losesExtras && (captureExtras(path, host.files) as JsonObject)),
      ...(force && { lose_extras: true }),
      ...(declared.hard_links === "keep" && { hard_links: "keep" }),
    },
  };
}

/**
 * Adds to what was noted of a file whose content was left alone what stands `now` of all that a later version writes or takes
 * away. What somebody else took away, or put another thing in the place of, is not what stood before that version any more.
 */
export function extendDress(prior: Prior, now: () => MaybeWaiting<Prior | null>): MaybeWaiting<Prior> {
  if (prior.type !== "file" || prior.spec["only_if_there"] !== true) return prior;
  return andThen(now(), (found) => {
    if (!found) return prior;
    return found.type === "file" ? addMissing(prior, found) : found;
  });
}

/** {@link extendDress} for a later version of another type, which makes the file wholly its own. */
export function extendToFile(prior: Prior, path: string, machine: Machine): MaybeWaiting<Prior> {
  return extendDress(prior, () => {
    const { host } = machine;
    const stat = host.files.stat(path);
    if (stat?.kind === "file") return captureFile({ path }, stat, machine);
    if (stat?.kind === "symlink") return captureLink(path, stat, host);
    return stat ? prior : { type: "file", spec: { path, ensure: "absent" } };
  });
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
