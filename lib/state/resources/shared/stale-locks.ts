/** Locks whose program a power loss ended: none takes one away that it did not make, so each change would fail for ever. */
import { act, type Machine } from "./command.ts";

/** Where locks lie. */
export interface LockPlace {
  /** The folder that is the working folder of who looks. */
  cwd: string;
  /** What to search there: a folder with all below it, or a file. */
  within: string;
  /** What locks are called, as a shell would match it. */
  name: string;
  /** Who looks. Default: the agent's user. */
  user?: string | undefined;
}

/**
 * Removes the locks that were made before the machine started. Any other may be of a program that somebody runs, as a git holds one for
 * as long as an editor waits for the words of a commit; and where the machine tells no time of running, nobody knows which are old.
 */
export async function removeStaleLocks(
  { cwd, within, name, user }: LockPlace,
  machine: Machine,
): Promise<void> {
  const { files } = machine.host;
  if (!files.stat(`${cwd}/${within}`) || files.stat("/proc/uptime")?.kind !== "file") return;
  const uptime = Number.parseFloat(new TextDecoder().decode(files.readFile("/proc/uptime")));
  if (!Number.isFinite(uptime)) return;
  // Busybox knows whole minutes only, and no point in time.
  const older = ["-mmin", `+${Math.ceil(uptime / 60)}`];
  const argv = [
    "find",
    within,
    "-type",
    "f",
    "-name",
    name,
    ...older,
    "-exec",
    "rm",
    "-f",
    "{}",
    "+",
  ] as const;
  await act({ argv, cwd, ...(user !== undefined && { user }) }, { ...machine, staysInRoot: true });
}
