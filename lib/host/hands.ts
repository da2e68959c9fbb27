/**
 * Who may go on changing a file once it is somebody else's, or runs with rights that its writer does not have: whoever has it
 * open, or mapped, keeps that whatever its mode says by then. Only a new file is nobody's yet.
 */
import type { FileAttributes, FileExtras, FileStat } from "./host.ts";

/** The extended attribute with the capabilities of a program, which the kernel drops at a write and a change of owner. */
export const capabilityAttribute = "security.capability";

const setIdBits = 0o6000;
const writtenByOthers = 0o022;

/** Whose a file is, and who may write to it. */
export type Standing = Pick<FileStat, "mode" | "uid" | "gid">;

/**
 * Whether a file that is to have these attributes must be a new one: an unprivileged owner gives it up, or it gets a set-id bit
 * or capabilities where others than root could write to it until now.
 *
 * @param had - What it has. Default: no capabilities.
 */
export function mustBeNew(
  old: Standing,
  { mode, extras, ...owner }: FileAttributes,
  had?: () => FileExtras | null,
): boolean {
  const uid = idOr(owner.uid, old.uid);
  const moves = uid !== old.uid || idOr(owner.gid, old.gid) !== old.gid;
  if (old.uid !== 0 && uid !== old.uid) return true;
  const isSetId = mode !== undefined && (mode & setIdBits & (moves ? setIdBits : ~old.mode)) !== 0;
  if (old.uid === 0 && (old.mode & writtenByOthers) === 0) return false;
  return isSetId || (isCapable(extras) && capabilitiesOf(extras) !== capabilitiesOf(had?.()));
}

/** The mode of what gets these attributes: as with chown(2), a file runs as its next owner only where somebody says so. */
export function modeAfter(
  old: Pick<FileStat, "kind" | "mode" | "uid" | "gid">,
  { mode, uid, gid }: FileAttributes,
): number {
  if (mode !== undefined) return mode;
  const moves = idOr(uid, old.uid) !== old.uid || idOr(gid, old.gid) !== old.gid;
  return moves && old.kind === "file" ? old.mode & ~setIdBits : old.mode;
}

/** Whether an owner speaks for the next one too with what he lets others do: an unprivileged one does for nobody else. */
export function isGiver({ uid }: Pick<Standing, "uid">, next: number | undefined): boolean {
  return isTrusted(uid) || uid === idOr(next, uid);
}

/** Whether a program with capabilities gets an owner who could use them for what he likes, and could not before. */
export function losesCapabilities({ uid }: Pick<Standing, "uid">, next: number | undefined): boolean {
  const owner = idOr(next, uid);
  return owner !== uid && !isTrusted(owner);
}

/** Whether a file is a program with capabilities. */
export function isCapable(extras: FileExtras | null | undefined): boolean {
  return capabilitiesOf(extras) !== undefined;
}

function capabilitiesOf(extras: FileExtras | null | undefined): string | undefined {
  return extras?.attributes?.[capabilityAttribute];
}

/** The same without capabilities. */
export function withoutCapabilities(extras: FileExtras): FileExtras {
  const { [capabilityAttribute]: _gone, ...attributes } = extras.attributes ?? {};
  return { ...extras, attributes };
}

/** Whether a user is root or the agent: nobody else speaks for what is theirs. */
export function isTrusted(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

/** As chown(2) has it, -1 leaves an owner as he is. */
function idOr(id: number | undefined, now: number): number {
  return id === undefined || id === -1 ? now : id;
}
