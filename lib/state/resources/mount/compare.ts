/** What is mounted beside what is declared. */
import type { Host } from "../../../host/host.ts";
import type { Change } from "../../result.ts";
import { realPath } from "../shared/real-path.ts";
import type { MountedEntry } from "./tables.ts";

/** What of a mount the kernel shows. */
export interface MountWish {
  device?: string | undefined;
  fstype?: string | undefined;
  options: readonly string[];
}

/** What differs. Options that only the file system knows can't be read back. */
export function compareLive(wish: MountWish, live: MountedEntry, host: Host): Change[] {
  const changes: Change[] = [];
  const { device, fstype, options } = wish;
  const isBind = options.some((option) => option === "bind" || option === "rbind");
  if (device !== undefined && !isBind && isOtherDevice(device, live, host)) {
    changes.push({ property: "device", before: live.device, after: device });
  }
  if (fstype !== undefined && !isBind && isOtherType(fstype, live.fstype)) {
    changes.push({ property: "fstype", before: live.fstype, after: fstype });
  }
  const missing = options.filter((option) => visible.has(option) && !live.options.includes(option));
  if (missing.length > 0) changes.push({ property: "options", before: live.options, after: [...options] });
  return changes;
}

/** Options that the kernel shows with every mount. */
const visible = new Set(["ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime"]);

/** These live on several devices, of which the kernel shows any. */
const manyDevices = new Set(["btrfs", "bcachefs"]);

/**
 * One device has many names: links in /dev are followed, and what is not to be found there ("LABEL=...", the kernel's
 * "/dev/root") is no reason to take away a file system that somebody uses.
 */
function isOtherDevice(device: string, live: MountedEntry, host: Host): boolean {
  if (manyDevices.has(live.fstype)) return false;
  const real = [device, live.device].map((name) => (name.startsWith("/dev/") ? realPath(name, host) : null));
  const [wanted, mounted] = real;
  if (!wanted || !mounted || wanted === mounted) return false;
  return host.files.stat(wanted) !== null && host.files.stat(mounted) !== null;
}

/** The kernel names a file system by the version or the driver that it chose. */
function isOtherType(declared: string, live: string): boolean {
  if (declared === "auto" || declared === live) return false;
  if (declared === "nfs" && live === "nfs4") return false;
  // A driver outside of the kernel may not tell what it reads.
  if (live === "fuse" || live === "fuseblk") return false;
  return live !== `fuse.${declared}`;
}
