/** Locks in a clone whose git a power loss ended: no git takes one away that it did not make, so each change would fail for ever. */
import { act, type Machine } from "../shared/command.ts";
import type { GitPlace } from "./program.ts";

/**
 * Removes the locks that were made before the machine started. Any other may be of a git that somebody runs, for as long as an
 * editor waits for the words of a commit; and where the machine tells no time of running, nobody knows which are old.
 */
export async function removeStaleLocks({ path, user }: GitPlace, machine: Machine): Promise<void> {
  const { files } = machine.host;
  if (!files.stat(`${path}/.git`) || files.stat("/proc/uptime")?.kind !== "file") return;
  const uptime = Number.parseFloat(new TextDecoder().decode(files.readFile("/proc/uptime")));
  if (!Number.isFinite(uptime)) return;
  // Busybox knows whole minutes only, and no point in time.
  const older = ["-mmin", `+${Math.ceil(uptime / 60)}`];
  const argv = [
    "find",
    ".git",
    "-type",
    "f",
    "-name",
    "*.lock",
    ...older,
    "-exec",
    "rm",
    "-f",
    "{}",
    "+",
  ] as const;
  await act({ argv, cwd: path, ...(user !== undefined && { user }) }, { ...machine, staysInRoot: true });
}
