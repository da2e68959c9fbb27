import type { Host } from "../host/host.ts";
import type { Json, JsonObject } from "../json.ts";

/** What stands below a folder, file by file. */
export function snapshot(host: Host, folder: string): JsonObject {
  const found: JsonObject = {};
  for (const name of host.files.list(folder)) {
    const path = `${folder}/${name}`;
    const stat = host.files.stat(path);
    if (!stat) continue;
    const { kind, mode, uid, gid } = stat;
    const content = kind === "file" ? new TextDecoder().decode(host.files.readFile(path)) : null;
    const target = kind === "symlink" ? host.files.readLink(path) : null;
    found[path] = { kind, mode, uid, gid, content, target, extras: host.files.extras(path) as Json };
    if (kind === "directory") Object.assign(found, snapshot(host, path));
  }
  return found;
}
