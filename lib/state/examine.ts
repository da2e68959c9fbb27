/** Looking at resources: many in short slices, so that a connection in the same process stays alive. */
import type { Host, HostFiles } from "../host/host.ts";
import { defaultResourceTimeoutMs, withDeadline } from "./deadline.ts";
import type { Change } from "./result.ts";
import type { StateItem } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

/** How long file checks hold the process before others get their turn, milliseconds. */
const sliceMs = 5;

/** How many programs look at once. */
const maxPrograms = 8;

/** Checks every item and notes in it what differs, or why that can't be told. Ends early when the run is stopped. */
export async function examineAll(items: readonly StateItem[], run: StateRun): Promise<void> {
  const leaving = new Set<string>();
  const lookingHost = run.applied.length > 0 ? hidePaths(run.host, leaving) : run.host;
  const programs = new Set<Promise<void>>();
  let sliceEnd = run.clock.monotonic() + sliceMs;
  for (const item of items) {
    if (run.stop.aborted) break;
    const waiting = examine(item, run, lookingHost);
    if (waiting) {
      const program = waiting.finally(() => programs.delete(program));
      programs.add(program);
      if (programs.size >= maxPrograms) await Promise.race(programs);
    }
    const path = item.removal ? leavingPath(item) : undefined;
    if (path !== undefined) leaving.add(path);
    if (run.clock.monotonic() < sliceEnd) continue;
    await new Promise((resolve) => setImmediate(resolve));
    sliceEnd = run.clock.monotonic() + sliceMs;
  }
  await Promise.all(programs);
}

/** Checks one item; a promise where that needs waiting. Never throws: the error is noted in the item. */
export function examine(item: StateItem, run: StateRun, host: Host = run.host): Promise<void> | undefined {
  const { target, resource } = item;
  if (!target || resource.skip) return undefined;
  const { type, spec } = target;
  item.checkedAt = run.changesBegun;
  let looking: Promise<Change[]> | null = null;
  try {
    if (type.checksWithPrograms !== true) {
      const changes = type.check(spec, host, run.stop);
      if (Array.isArray(changes)) return note(item, changes);
      looking = changes;
    }
  } catch (error) {
    return note(item, null, error);
  }
  const limits = { clock: run.clock, timeoutMs: timeoutOf(item), signal: run.stop };
  const check = async (signal: AbortSignal): Promise<Change[]> => looking ?? type.check(spec, host, signal);
  return Promise.resolve(withDeadline(limits, check)).then(
    (changes) => note(item, changes),
    (error: unknown) => note(item, null, error),
  );
}

/** How long one try of an item may take, milliseconds. */
export function timeoutOf({ resource }: StateItem): number {
  return resource.timeout_seconds === undefined ? defaultResourceTimeoutMs : resource.timeout_seconds * 1000;
}

function note(item: StateItem, changes: StateItem["changes"], error: unknown = null): undefined {
  item.changes = changes;
  item.error = error;
}

/** The path where nothing will stand any more once this removal is done. */
function leavingPath({ prior, changes }: StateItem): string | undefined {
  const path = prior?.spec["path"];
  const leaves = changes?.some((change) => change.property === "ensure" && change.after === "absent");
  return leaves && typeof path === "string" ? path : undefined;
}

/**
 * The machine as it will be when these paths are gone: a folder that holds nothing else will be empty, and a plan must say
 * that it goes too.
 */
function hidePaths(host: Host, paths: ReadonlySet<string>): Host {
  const hide = (files: HostFiles): HostFiles => ({
    below: (folder) => hide(files.below(folder)),
    list: (path) => files.list(path).filter((name) => !paths.has(`${path}/${name}`)),
    stat: (path) => (paths.has(path) ? null : files.stat(path)),
    readFile: (path, expected) => files.readFile(path, expected),
    hashFile: (path, signal) => files.hashFile(path, signal),
    compareFile: (path, content) =>
      paths.has(path) ? { stat: null, same: false } : files.compareFile(path, content),
    readLink: (path) => files.readLink(path),
    writeFile: (path, content, attributes) => files.writeFile(path, content, attributes),
    makeDirectory: (path, attributes) => files.makeDirectory(path, attributes),
    makeSymlink: (path, target) => files.makeSymlink(path, target),
    setAttributes: (path, attributes) => files.setAttributes(path, attributes),
    removeFile: (path) => files.removeFile(path),
    removeDirectory: (path) => files.removeDirectory(path),
  });
  return {
    platform: host.platform,
    isConfined: host.isConfined,
    users: host.users,
    backups: host.backups,
    sha256: (content) => host.sha256(content),
    run: (command, signal) => host.run(command, signal),
    download: (request, signal) => host.download(request, signal),
    barrier: () => host.barrier(),
    files: hide(host.files),
  };
}
