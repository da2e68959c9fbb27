/** What holds a file or folder of this machine as it is: the flags of chattr(1), and what is mounted there. */
import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { holdOn } from "./extra-attributes.ts";
import { errnoOf, heldError, hostError } from "./host-error.ts";
import type { FileChange } from "./host.ts";

/** Which place, in the words of the caller and of the system. */
export interface HeldPlace {
  path: string;
  real: string;
  /** Nothing stands there, as was seen right before. */
  isFree?: boolean;
  /** Something was made in its folder since the last barrier, so that nothing held the folder. */
  isFolderKnown?: boolean;
}

/** Throws what a change of this kind would meet; tells whether something is mounted at the place. */
export function refuseHeld(place: HeldPlace, change: FileChange): { isMountPoint: boolean } {
  const { path, real, isFree = false, isFolderKnown = false } = place;
  const hold = isFree ? null : holdOn(real);
  const isMountPoint = hold?.mountPoint === true;
  if (hold?.immutable) throw heldError(path, "EPERM", "is immutable (chattr +i) and stays as it is");
  if (hold?.appendOnly) throw heldError(path, "EPERM", "is append-only (chattr +a) and stays as it is");
  if (isMountPoint) {
    if (change === "replace")
      throw heldError(path, "EBUSY", "has something mounted on it, which must be unmounted first");
    refuseReadOnly(real, { path, what: "is mounted read-only" });
  }
  if (isFolderKnown && !isMountPoint) return { isMountPoint };
  // A dot follows the name that the system has for an open folder.
  const folder = `${dirname(real)}/.`;
  if (!isMountPoint && isReadOnly(folder)) throw hostError(path, "EROFS");
  if (change === "attributes") return { isMountPoint };
  const above = holdOn(folder);
  if (above?.immutable) throw heldError(path, "EPERM", "is in a folder that is immutable (chattr +i)");
  if (above?.appendOnly) throw heldError(path, "EPERM", "is in a folder that is append-only (chattr +a)");
  if (isMountPoint)
    refuseReadOnly(folder, {
      path,
      what: "needs a copy beside it while it is written, and its folder is read-only",
    });
  return { isMountPoint };
}

function refuseReadOnly(real: string, { path, what }: { path: string; what: string }): void {
  if (isReadOnly(real)) throw heldError(path, "EROFS", what);
}

/** Only the file system itself: what an agent that is not root may do shows when it does it. */
function isReadOnly(real: string): boolean {
  try {
    accessSync(real, constants.W_OK);
    return false;
  } catch (error) {
    return errnoOf(error) === "EROFS";
  }
}
