/**
 * What a process that was killed left beside the files that it wrote: temporary files and copies to be judged.
 *
 * Each process notes the folders in which it writes, in a list of its own in the state folder, and drops the list once all is
 * durable. The next process goes through the lists of those that are gone and takes away what bears the mark of one of them there:
 * never what another agent, with a state folder of its own, is writing.
 */
import { appendFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { errnoOf } from "./host-error.ts";
import type { LocalPaths } from "./local-paths.ts";
import { bootOf, processAt } from "./process-table.ts";
import { lifeId, markOf } from "./temporary-files.ts";

const ownPrefix = ".fleetwright-";

/** A mark, and a temporary file, one that has the same name at every try, or a copy that a program is to judge. */
const ownName =
  /^\.fleetwright-([0-9a-f]{16})-(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16}\.(?:part|validate))$/;
const listName = /^(?:writing|work)-(\d+)-(?:(\d+)-([0-9a-f]{8})-)?([0-9a-f-]{36})$/;

/** As much of what a start of the machine is known by as a name has room for. */
const bootName = (): string => bootOf().slice(0, 8);

const begun = processAt(process.pid)?.begun;

/** The process, told apart from one that had its number before, and from one that has it now: with when it began, in which start of the machine. */
const session = [process.pid, ...(begun === undefined ? [] : [begun, bootName()]), lifeId].join("-");

/** Name of the folder in which this process works, in the state folder. */
export const workName = `work-${session}`;

/** Folders in which something may be left behind. Best effort: a list that can't be written costs no more than a leftover. */
export class Leftovers {
  readonly #stateFolder: string;
  readonly #noted = new Set<string>();

  /**
   * Takes away what processes that are gone have left.
   *
   * @param paths - Finds the folders, each by a way that nobody leads elsewhere.
   */
  constructor(stateFolder: string, paths: LocalPaths) {
    this.#stateFolder = stateFolder;
    for (const name of namesIn(stateFolder)) {
      const [, pid, since, boot, life = ""] = listName.exec(name) ?? [];
      if (pid === undefined || life === lifeId || isAlive(Number(pid), { since, boot })) continue;
      const left = join(stateFolder, name);
      if (name.startsWith("writing-"))
        for (const folder of readList(left)) takeAway(folder, markOf(life), paths);
      attempt(() => rmSync(left, { recursive: true }));
    }
  }

  /** Notes a folder before something is written there. */
  note(folder: string): void {
    if (this.#noted.has(folder)) return;
    this.#noted.add(folder);
    attempt(() => {
      mkdirSync(this.#stateFolder, { recursive: true, mode: 0o700 });
      appendFileSync(this.#list, `${JSON.stringify(folder)}\n`, { mode: 0o600 });
    });
  }

  /** Nothing is being written any more. */
  forget(): void {
    if (this.#noted.size === 0) return;
    this.#noted.clear();
    attempt(() => unlinkSync(this.#list));
  }

  get #list(): string {
    return join(this.#stateFolder, `writing-${session}`);
  }
}

function takeAway(folder: string, mark: string, paths: LocalPaths): void {
  attempt(() => {
    const held = paths.holdLasting(join(folder, ownPrefix));
    try {
      const open = dirname(held.real);
      for (const name of namesIn(open)) {
        const path = join(open, name);
        if (ownName.exec(name)?.[1] === mark && !lstatSync(path).isDirectory())
          attempt(() => unlinkSync(path));
      }
    } finally {
      held.release();
    }
  });
}

function readList(path: string): string[] {
  const text = attempt(() => readFileSync(path, "utf8")) ?? "";
  return text.split("\n").flatMap((line): string[] => {
    try {
      const folder: unknown = JSON.parse(line);
      return typeof folder === "string" && folder.startsWith("/") ? [folder] : [];
    } catch {
      // The last line may have been cut.
      return [];
    }
  });
}

function namesIn(folder: string): string[] {
  return attempt(() => readdirSync(folder)) ?? [];
}

/** An earlier version did not note when it began: whoever has its number now may be another. */
function isAlive(
  pid: number,
  { since, boot }: { since?: string | undefined; boot?: string | undefined },
): boolean {
  if (pid === process.pid) return false;
  if (since !== undefined) return boot === bootName() && processAt(pid)?.begun === Number(since);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== "ESRCH";
  }
}

/** What the system refuses here is nobody's loss. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
