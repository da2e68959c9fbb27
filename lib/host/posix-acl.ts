/** The ACL of a file as the kernel keeps it in `system.posix_acl_access`: a version, then entries of tag, permissions and id. */

import type { FileExtras } from "./host.ts";

/** The extended attribute that holds it. */
export const accessAcl = "system.posix_acl_access";

const headerBytes = 4;
const entryBytes = 8;
const tags = { owner: 0x01, owningGroup: 0x04, mask: 0x10, other: 0x20 } as const;

/**
 * The same ACL with the permission bits of a mode, as chmod(2) would make it: the bits of the group are its mask where it
 * has one, and the entry of the owning group stays what it is.
 */
export function aclWithMode(acl: Uint8Array, mode: number): Uint8Array {
  const changed = Buffer.from(acl);
  const places = new Map<number, number>();
  for (let at = headerBytes; at + entryBytes <= changed.length; at += entryBytes)
    places.set(changed.readUInt16LE(at), at + 2);
  const set = (tag: number, bits: number): void => {
    const at = places.get(tag);
    if (at !== undefined) changed.writeUInt16LE(bits & 7, at);
  };
  set(tags.owner, mode >> 6);
  set(places.has(tags.mask) ? tags.mask : tags.owningGroup, mode >> 3);
  set(tags.other, mode);
  return changed;
}

/** The same extras with the permission bits of a mode in the ACL, where there is one. */
export function extrasWithMode(extras: FileExtras, mode: number): FileExtras {
  const acl = extras.attributes?.[accessAcl];
  if (acl === undefined) return structuredClone(extras);
  const changed = Buffer.from(aclWithMode(Buffer.from(acl, "base64"), mode)).toString("base64");
  return { ...extras, attributes: { ...extras.attributes, [accessAcl]: changed } };
}
