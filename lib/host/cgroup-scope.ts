/**
 * Programs in cgroups of version 2:
 *
 * ```
 * <our own cgroup>/fleetwright-<state folder>/<id>   a program that is held
 *                                            /left   what programs left running on purpose
 * ```
 * A program is born in its group: this process enters it, starts the program and goes back, all in one turn. Written there
 * afterwards, a program would have had time to start others outside.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { ownCgroup } from "./own-cgroup.ts";
import { bootOf, type ProcessEntry, processAt, withDescendants } from "./process-table.ts";
import type { HeldProgram, ProgramScope, ProgramScopes, StartedProcess } from "./program-scope.ts";

const leftName = "left";

/** How often what is let go is looked at again: who is being moved may start others meanwhile. */
const moveRounds = 50;

/** Programs in cgroups below our own. */
export class CgroupScopes implements ProgramScopes {
  readonly #base: string;

  private constructor(base: string) {
    this.#base = base;
  }

  /**
   * Null where this process may make no groups.
   *
   * @param name - What the state folder is known by: groups of another folder are another agent's.
   */
  static open(name: string): CgroupScopes | null {
    const own = ownCgroup();
    if (own === null) return null;
    const scopes = new CgroupScopes(join(own, `fleetwright-${name}`));
    const trial = new CgroupScope(join(scopes.#base, `trial-${process.pid}`));
    try {
      trial.enter();
      trial.leave();
      return scopes;
    } catch {
      return null;
    } finally {
      trial.remove();
    }
  }

  create(held: HeldProgram): ProgramScope {
    return new CgroupScope(join(this.#base, held.id));
  }

  open({ group, id }: HeldProgram): ProgramScope {
    return new CgroupScope(group ?? join(this.#base, id));
  }

  found(): HeldProgram[] {
    const names = groupsIn(this.#base).filter((name) => name !== leftName);
    const what = { program: "a program", boot: bootOf(), first: null };
    return names.map((id) => ({ ...what, id, group: join(this.#base, id) }));
  }
}

/** One group. */
class CgroupScope implements ProgramScope {
  readonly group: string;
  readonly isSure = true;
  #home: string | null = null;

  constructor(group: string) {
    this.group = group;
  }

  start<Child extends StartedProcess>(
    spawn: (environment: Readonly<Record<string, string>>) => Child,
  ): Child {
    let child: Child | undefined;
    this.enter();
    try {
      child = spawn({});
    } finally {
      this.leave();
    }
    this.#sendHome(child.pid);
    return child;
  }

  enter(): void {
    this.#home = ownCgroup();
    mkdirSync(this.group, { recursive: true });
    move(process.pid, this.group);
  }

  leave(): void {
    if (this.#home !== null) move(process.pid, this.#home);
  }

  members(all: readonly ProcessEntry[]): ProcessEntry[] {
    const pids = new Set(pidsIn(this.group));
    if (pids.size === 0) return [];
    // What a login moved into a session of its own (su with pam_systemd) is a child of one that stayed.
    return withDescendants(
      all.filter(({ pid }) => pids.has(pid)),
      all,
    ).filter(({ isZombie }) => !isZombie);
  }

  kill(): void {
    if (pidsIn(this.group).includes(process.pid)) return;
    // Kernels before 5.14 have no such file; whoever calls this ends the members one by one, too.
    tryTo(() => writeFileSync(join(this.group, "cgroup.kill"), "1"));
  }

  letGo(): void {
    const left = join(dirname(this.group), leftName);
    for (let round = 0; round < moveRounds; round += 1) {
      const pids = pidsIn(this.group).filter((pid) => pid !== process.pid);
      if (pids.length === 0) break;
      tryTo(() => mkdirSync(left));
      for (const pid of pids) tryTo(() => move(pid, left));
    }
  }

  remove(): void {
    removeTree(this.group);
    // Both only when they are empty.
    tryTo(() => rmdirSync(join(dirname(this.group), leftName)));
    tryTo(() => rmdirSync(dirname(this.group)));
  }

  /** Another thread of this process may have started something in the same moment; it is none of ours. */
  #sendHome(first: number | undefined): void {
    const home = this.#home;
    if (home === null) return;
    for (const pid of pidsIn(this.group)) {
      if (pid === first || processAt(pid)?.parent !== process.pid) continue;
      tryTo(() => move(pid, home));
    }
  }
}

function move(pid: number, group: string): void {
  writeFileSync(join(group, "cgroup.procs"), String(pid));
}

/** The processes of a group and of those below it, which programs may make. */
function pidsIn(group: string): number[] {
  const own = tryTo(() => readFileSync(join(group, "cgroup.procs"), "utf8")) ?? "";
  const pids = own.split("\n").filter((line) => line !== "");
  // 0 is a process of another pid namespace, which can't be named from here.
  const numbers = pids.map(Number).filter((pid) => pid > 0);
  return [...numbers, ...groupsIn(group).flatMap((name) => pidsIn(join(group, name)))];
}

function groupsIn(group: string): string[] {
  const entries = tryTo(() => readdirSync(group, { withFileTypes: true })) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => basename(name));
}

function removeTree(group: string): void {
  for (const name of groupsIn(group)) removeTree(join(group, name));
  tryTo(() => rmdirSync(group));
}

/** Null where the machine refuses: processes and groups go away under whoever looks at them. */
function tryTo<T>(act: () => T): T | null {
  try {
    return act();
  } catch {
    return null;
  }
}
