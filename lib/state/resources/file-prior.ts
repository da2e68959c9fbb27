import type { FileStat, Host } from "../../host/host.ts";
import type { Prior } from "../resource-type.ts";
import { captureAttributes } from "./attributes.ts";

/** Keeps a copy of a file and says how to bring it back: content, mode and owner. */
export function captureFile(path: string, stat: FileStat, host: Host): Prior {
  const { sha256 } = host.backups.save(path);
  const spec = {
    path,
    ensure: "present",
    content_backup: sha256,
    ...captureAttributes(stat, host),
    force: true,
  };
  return { type: "file", spec };
}

/** The copies that a prior needs to be restored. */
export function backupsOf(prior: Prior): string[] {
  const sha256 = prior.spec["content_backup"];
  return typeof sha256 === "string" ? [sha256] : [];
}
