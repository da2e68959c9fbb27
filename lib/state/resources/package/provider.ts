/** What a package manager does for the `package` type; each is one small file beside this one. */
import { OrchestratorError } from "../../../errors.ts";
import { ask, type Machine } from "../shared/command.ts";

/** One package as it stands on the machine. */
export interface PackageState {
  /** Null where it is not installed. */
  version: string | null;
  held: boolean;
  /** Whether it is gone but for its configuration. */
  leftovers: boolean;
  /** Whether it is there for the sake of others alone. Absent = nobody asked. */
  auto?: boolean;
}

/** A package to put there. */
export interface PackageRequest {
  name: string;
  /** Exact, or a beginning with `*` after it. Absent = the newest. */
  version?: string | undefined;
  /** Whether one of another version is there. */
  installed: boolean;
}

/** How packages are put there. */
export interface InstallOptions {
  /** Whether others may go for them: where that was foretold. */
  mayRemove: boolean;
  /** The very packages, also where the index names others in their place by now. Default: false. */
  exact?: boolean;
}

/** What a package manager would do beside what it is asked for. */
export interface SideEffects {
  removes: readonly string[];
  downgrades: readonly { name: string; before: string; after: string }[];
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
  /** Where what it may fetch from is declared: files and folders. */
  readonly sourcePlaces: readonly string[];
  /** What stands. Reads only. */
  query(names: readonly string[], machine: PackageMachine): Promise<PackageState[]>;
  /** The newest versions that the index knows; null = it knows none. Reads only. */
  candidates(names: readonly string[], machine: PackageMachine): Promise<(string | null)[]>;
  /** Brings the package index up to date. */
  refresh(machine: PackageMachine): Promise<void>;
  /** `options` default: nothing else may go. */
  install(
    requests: readonly PackageRequest[],
    machine: PackageMachine,
    options?: InstallOptions,
  ): Promise<void>;
  remove(names: readonly string[], options: RemoveOptions, machine: PackageMachine): Promise<void>;
  /** Keeps packages from being changed, or lets them go. Absent = it can't. */
  setHeld?(names: readonly string[], held: boolean, machine: PackageMachine): Promise<void>;
  /** What would happen to others; null = it can't be told, as the index does not know a name. Absent = nothing would. Reads only. */
  foretellInstall?(requests: readonly PackageRequest[], machine: PackageMachine): Promise<SideEffects | null>;
  /**
   * Why it would refuse to install these, in its own words; null = it would not. Absent = it refuses what the index knows no
   * version of. Reads only.
   */
  rehearseInstall?(
    requests: readonly PackageRequest[],
    machine: PackageMachine,
  ): Promise<OrchestratorError | null>;
  /** Which others would go. Absent = none would. Reads only. */
  foretellRemoval?(names: readonly string[], machine: PackageMachine): Promise<string[]>;
  /** Names of all that is there. Absent = {@link unused} is, too. Reads only. */
  installedNames?(machine: PackageMachine): Promise<string[]>;
  /** Which others came along as dependencies, and nobody would need any more if these went. Reads only. */
  unused?(names: readonly string[], machine: PackageMachine): Promise<string[]>;
  /** Which of these are there for the sake of others alone. Absent = it can't be told or set. Reads only. */
  dependencies?(names: readonly string[], machine: PackageMachine): Promise<string[]>;
  /** Has them be there for the sake of others alone. */
  markDependencies?(names: readonly string[], machine: PackageMachine): Promise<void>;
}

/** A package that is not there. */
export const notInstalled: PackageState = { version: null, held: false, leftovers: false };

/** A package that is there. */
export function installedState(version: string, held = false): PackageState {
  return { version, held, leftovers: false };
}

/** The error for names that the index does not know; `words` are those of the package manager. */
export function noPackage(names: readonly string[], words = ""): OrchestratorError {
  const packages = names.slice(0, 10);
  const message = `The index knows no package of this name: ${packages.join(", ")}.`;
  return new OrchestratorError("HOST_ERROR", {
    message: words === "" ? message : `${message} ${words}`,
    details: { packages },
  });
}

/** Finds what was asked for in what was listed. */
export function inOrder<T>(names: readonly string[], found: ReadonlyMap<string, T>, missing: T): T[] {
  return names.map((name) => found.get(name) ?? missing);
}

/**
 * Whether a folder, whose time of change is that of a package index, was changed longer ago than so many seconds. One of a time to
 * come says nothing: a clock that was ahead wrote it.
 */
export async function isOlder(folder: string, seconds: number, machine: Machine): Promise<boolean> {
  if (!machine.host.files.stat(folder)) return true;
  const within = ["-mmin", `-${Math.ceil(seconds / 60)}`];
  // The file of the process that asks is of now.
  const argv = ["find", folder, "-maxdepth", "0", ...within, "!", "-newer", "/proc/self/stat"] as const;
  return (await ask({ argv }, machine)).stdout === "";
}
