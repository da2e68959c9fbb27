/** Files with ACLs, extended attributes, capabilities and flags, made and looked at with the programs of the system. */
import { chmodSync, chownSync, statSync } from "node:fs";
import { output } from "./real-machine.ts";

/** A file as the programs of the system see it. */
export function look(path: string): string {
  const { mode, uid, gid } = statSync(path);
  return [
    `${mode.toString(8)} ${uid} ${gid}`,
    output("getfacl", "-cnp", path),
    output("getfattr", "-d", "-m", "-", "-e", "hex", "--absolute-names", path),
    // Whether a file has extents, an index or inline data is the file system's business.
    output("lsattr", "-d", path).split(" ")[0]?.replace(/[eIN]/g, "-"),
    output("getcap", path),
  ]
    .join("\n")
    .replaceAll(path, "it");
}

/** A file, or folder, with one of everything. */
export function dress(
  path: string,
  { acl, mode, flags }: { acl: string; mode: number; flags: string },
): void {
  chownSync(path, 1, 33);
  chmodSync(path, mode);
  output("setfacl", "-m", acl, path);
  output("setfattr", "-n", "user.note", "-v", "hello", path);
  output("setfattr", "-n", "trusted.note", "-v", "0x00ff", path);
  if (statSync(path).isFile()) output("setcap", "cap_net_raw+ep", path);
  if (flags !== "") output("chattr", `+${flags}`, path);
}

/** Denies the owning group what the mode seems to give it. */
export const usual = { acl: "u:2:rw,g::---,m::rw", mode: 0o750, flags: "dA" };
