import type { FileStat } from "../../../host/host.ts";
import { andThen, type MaybeWaiting } from "../../../internal/maybe-waiting.ts";
import type { Prior } from "../../resource-type.ts";
import { captureAttributes } from "../shared/attributes.ts";
import type { Machine } from "../shared/command.ts";

/** Keeps a copy of a file and says how to bring it back: content, mode and owner. */
export function captureFile(path: string, stat: FileStat, { host, signal }: Machine): MaybeWaiting<Prior> {
  return andThen(host.backups.save(path, { signal }), ({ sha256 }) => ({
    type: "file",
    spec: {
      path,
      ensure: "present",
      content_backup: sha256,
      ...captureAttributes(stat, host),
      force: true,
    },
  }));
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
