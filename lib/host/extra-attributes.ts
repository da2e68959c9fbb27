/**
 * Extras of files of this machine: extended attributes, among them ACLs, capabilities and security labels, and the flags of
 * chattr(1). By calls of the C library, a few microseconds each; where it can't be called nothing is known of them.
 */
import { errnoName } from "./errno-words.ts";
import { capabilityAttribute } from "./hands.ts";
import type { FileExtras } from "./host.ts";
import { type Libc, libc } from "./libc.ts";
import { accessAcl, aclWithMode } from "./posix-acl.ts";

/** The kernel bounds names and values of one file alike: XATTR_LIST_MAX, XATTR_SIZE_MAX. */
const maxBytes = 65_536;

/** Hashes of the content and signatures of the inode: on another content or inode they would only be wrong. */
const ownedByKernel: ReadonlySet<string> = new Set(["security.ima", "security.evm"]);

/** A label of a security module is given by its policy and can be replaced, not taken away. */
const isRemovable = (name: string): boolean => !name.startsWith("security.") || name === capabilityAttribute;

/**
 * s, u, c, S, d, A, j, t, D, T, C, x, P of chattr(1). The others say how the file system keeps a file; "i" and "a" are there
 * to be respected, not to be given.
 */
const settableFlags = 0x2283_c0cf;

/** Files that the kernel checks against a hash of their content. A new content has none. */
const verityFlag = 0x0010_0000;

const keptFlags = settableFlags | verityFlag;

/** FS_IOC_GETFLAGS and FS_IOC_SETFLAGS, which are other numbers on the processors that are not here. */
const flagCalls = ["x64", "arm64", "riscv64", "loong64", "s390x"].includes(process.arch) && {
  get: 0x80086601,
  set: 0x40086602,
};

interface Calls {
  list(fd: number, names: Buffer, size: number): number;
  get(fd: number, name: string, value: Buffer, size: number): number;
  set(fd: number, name: string, value: Uint8Array, size: number, flags: number): number;
  remove(fd: number, name: string): number;
  ioctl(fd: number, request: number, flags: Buffer): number;
  statx(folder: number, path: string, flags: number, mask: number, out: Buffer): number;
  errno: Libc["errno"];
}

let known: Calls | null | undefined;

/** Null where the C library can't be called. */
function calls(): Calls | null {
  if (known !== undefined) return known;
  const found = libc();
  if (!found) return (known = null);
  const { library, errno } = found;
  known = {
    list: library.func("long flistxattr(int fd, void *names, size_t size)"),
    get: library.func("long fgetxattr(int fd, str name, void *value, size_t size)"),
    set: library.func("int fsetxattr(int fd, str name, void *value, size_t size, int flags)"),
    remove: library.func("int fremovexattr(int fd, str name)"),
    ioctl: library.func("int ioctl(int fd, unsigned long request, void *flags)"),
    statx: library.func("int statx(int folder, str path, int flags, unsigned int mask, void *out)"),
    errno,
  };
  return known;
}

/** Every call is synchronous, so one buffer each serves all. */
const nameBuffer = Buffer.allocUnsafeSlow(maxBytes);
const valueBuffer = Buffer.allocUnsafeSlow(maxBytes);

/** What an open file or folder has; null where that can't be known. */
export function readExtras(fd: number): FileExtras | null {
  const c = calls();
  if (!c) return null;
  const extras: FileExtras = {};
  const attributes: Record<string, string> = {};
  for (const name of namesOf(fd, c)) {
    const value = valueOf(fd, name, c);
    if (value) attributes[name] = value.toString("base64");
  }
  if (Object.keys(attributes).length > 0) extras.attributes = attributes;
  const flags = flagsOf(fd, c) & keptFlags;
  if (flags !== 0) extras.flags = flags;
  return extras;
}

/**
 * Gives an open file or folder exactly these extras, its mode among those of its ACL. Returns what it could not have, by
 * name, with the system's error; empty = it has all of them.
 */
export function giveExtras(fd: number, extras: FileExtras, mode: number): Map<string, string> {
  const lost = new Map<string, string>();
  const c = calls();
  if (!c) return lost;
  const { [accessAcl]: acl, ...wanted } = extras.attributes ?? {};
  const fail = (name: string): void => void lost.set(name, nameOf(c));
  for (const name of namesOf(fd, c)) {
    if (name in (extras.attributes ?? {}) || !isRemovable(name)) continue;
    if (c.remove(fd, name) !== 0) fail(name);
  }
  for (const [name, base64] of Object.entries(wanted)) {
    const value = Buffer.from(base64, "base64");
    // A label that it has by itself need not be given, which only some may.
    if (valueOf(fd, name, c)?.equals(value) === true) continue;
    if (c.set(fd, name, value, value.length, 0) !== 0) fail(name);
  }
  if (!giveFlags(fd, extras)) lost.set("flags", nameOf(c));
  // Last: until here nobody but the owner and the agent has had access.
  if (acl !== undefined) {
    const value = aclWithMode(Buffer.from(acl, "base64"), mode);
    if (c.set(fd, accessAcl, value, value.length, 0) !== 0) fail(accessAcl);
  }
  return lost;
}

/** Gives a file the flags that must be there before its content, or at any time; false where it does not take them. */
export function giveFlags(fd: number, { flags: wanted = 0 }: FileExtras): boolean {
  const c = calls();
  if (!c || !flagCalls) return true;
  const now = flagsOf(fd, c);
  if ((now & keptFlags) === wanted) return true;
  const next = Buffer.alloc(8);
  next.writeInt32LE((now & ~settableFlags) | (wanted & settableFlags));
  return c.ioctl(fd, flagCalls.set, next) === 0 && (flagsOf(fd, c) & keptFlags) === wanted;
}

/** What a new file can't be given by this process, as far as that is known before, by name, with the system's error. */
export function unkeepable({ attributes = {}, flags = 0 }: FileExtras): Map<string, string> {
  const lost = new Map<string, string>();
  if ((flags & verityFlag) !== 0) lost.set("flags", "EOPNOTSUPP");
  if (capabilityAttribute in attributes && process.geteuid?.() !== 0) lost.set(capabilityAttribute, "EPERM");
  return lost;
}

/** Does what takes the capabilities of a program away, and gives them back. */
export function keepingCapabilities(fd: number, act: () => void): void {
  const c = calls();
  const kept = c && valueOf(fd, capabilityAttribute, c);
  const value = kept && Buffer.from(kept);
  act();
  if (!c || !value || c.set(fd, capabilityAttribute, value, value.length, 0) === 0) return;
  throw Object.assign(new Error("fsetxattr"), { code: nameOf(c) });
}

/** What keeps a file or folder from being changed or moved. */
export interface Hold {
  immutable: boolean;
  appendOnly: boolean;
  mountPoint: boolean;
}

const atCwd = -100;
const noFollow = 0x100;
const statxAttributesAt = 8;
const held = { immutable: 0x10, appendOnly: 0x20, mountPoint: 0x2000 };

/** What holds what stands at a path, links not followed; null where nothing does or nobody can tell. */
export function holdOn(real: string): Hold | null {
  const c = calls();
  if (!c || c.statx(atCwd, real, noFollow, 0, valueBuffer) !== 0) return null;
  const bits = valueBuffer.readUInt32LE(statxAttributesAt);
  const has = (bit: number): boolean => (bits & bit) !== 0;
  if (!has(held.immutable | held.appendOnly | held.mountPoint)) return null;
  return {
    immutable: has(held.immutable),
    appendOnly: has(held.appendOnly),
    mountPoint: has(held.mountPoint),
  };
}

function namesOf(fd: number, c: Calls): string[] {
  const length = c.list(fd, nameBuffer, maxBytes);
  // A file system without extended attributes has none.
  if (length <= 0) return [];
  const names = nameBuffer.toString("utf8", 0, length - 1).split("\0");
  return names.filter((name) => !ownedByKernel.has(name));
}

/** Good until the next call. */
function valueOf(fd: number, name: string, c: Calls): Buffer | null {
  const length = c.get(fd, name, valueBuffer, maxBytes);
  return length < 0 ? null : valueBuffer.subarray(0, length);
}

function flagsOf(fd: number, c: Calls): number {
  if (!flagCalls || c.ioctl(fd, flagCalls.get, valueBuffer) !== 0) return 0;
  return valueBuffer.readInt32LE(0);
}

function nameOf(c: Calls): string {
  return errnoName(c.errno()) ?? "UNKNOWN";
}
