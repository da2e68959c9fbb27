/** What a package manager does for the `package` type; each is one small file beside this one. */
import type { Machine } from "../shared/command.ts";

/** One package as it stands on the machine. */
export interface PackageState {
  /** Null where it is not installed. */
  version: string | null;
  held: boolean;
  /** Whether it is gone but for its configuration. */
  leftovers: boolean;
}

/** A package to put there. */
export interface PackageRequest {
  name: string;
  /** Exact, or a beginning with `*` after it. Absent = the newest. */
  version?: string | undefined;
  /** Whether one of another version is there. */
  installed: boolean;
}

/** How packages are taken away. */
export interface RemoveOptions {
  /** With their configuration, where the package manager keeps it otherwise. */
  purge: boolean;
  /** Refuses where other packages need them, instead of taking those along. */
  alone: boolean;
}

/** A machine, and the program of the package manager on it. */
export interface PackageMachine extends Machine {
  readonly program: string;
}

/** One package manager. Every list it answers with is in the order of the names it was asked for. */
export interface PackageProvider {
  /** Where its program may be. The first that stands shows that the machine has it, and is run. */
  readonly programs: readonly string[];
  readonly choosesVersions: boolean;
  /** A folder whose time of change is that of the package index. Absent = its age can't be told, and it looks after that by itself. */
  readonly indexFolder?: string;
  /** What stands. Reads only. */
  query(names: readonly string[], machine: PackageMachine): Promise<PackageState[]>;
  /** The newest versions that the index knows; null = it knows none. Reads only. */
  candidates(names: readonly string[], machine: PackageMachine): Promise<(string | null)[]>;
  /** Brings the package index up to date. */
  refresh(machine: PackageMachine): Promise<void>;
  install(requests: readonly PackageRequest[], machine: PackageMachine): Promise<void>;
  remove(names: readonly string[], options: RemoveOptions, machine: PackageMachine): Promise<void>;
  /** Keeps packages from being changed, or lets them go. Absent = it can't. */
  setHeld?(names: readonly string[], held: boolean, machine: PackageMachine): Promise<void>;
}

/** A package that is not there. */
export const notInstalled: PackageState = { version: null, held: false, leftovers: false };

/** A package that is there. */
export function installedState(version: string, held = false): PackageState {
  return { version, held, leftovers: false };
}

/** Finds what was asked for in what was listed. */
export function inOrder<T>(names: readonly string[], found: ReadonlyMap<string, T>, missing: T): T[] {
  return names.map((name) => found.get(name) ?? missing);
}
