/** What a fleet folder says, and what a server has of it: modules, assignments and the like, each under its name. */
import type { ErrorCode, Issue } from "../errors.ts";
import type { ManagedBy } from "../internal/common-schemas.ts";
import type { JsonObject } from "../json.ts";

/** What a fleet folder may have, in the order in which it is made: each may need those before it. */
export const folderKinds = [
  "modules",
  "assignments",
  "windows",
  "channels",
  "thresholds",
  "operators",
] as const;

/** What a fleet folder may have. */
export type FolderKind = (typeof folderKinds)[number];

/** One file of a fleet folder. */
export interface FolderFile {
  /** Below the folder, its parts joined by `/`. What is below `modules/` is a module. */
  path: string;
  text: string;
}

/** What is wrong with a file of a fleet folder, or with what it says beside what the server has. */
export interface FolderFault extends Issue {
  /** Path of the file below the folder. */
  file: string;
  /** What the server would refuse it with; what the server never sees has the code that fits. */
  code: ErrorCode;
}

/** One thing as a fleet folder says it. */
export interface DeclaredThing {
  kind: FolderKind;
  /** Its name in the folder. */
  name: string;
  /** Which one of the server it is, where the folder says so; only of what has no name there that only one may have. */
  id?: string;
  /** Its fields in their canonical form, each that has a default with it. */
  values: JsonObject;
  /** Of a module: what it requires. */
  requires: readonly string[];
  file: string;
  /** Where a part of it stands; without a path, where it begins. */
  at(path?: Issue["path"]): { line: number; column: number };
}

/** A fleet folder that was read, as far as it could be. */
export interface FleetFolder {
  /** Null where it says none. */
  label: string | null;
  /** Where it says so; where it says none, the beginning of `fleet.yaml`. */
  labelPlace: { file: string; line: number; column: number };
  things: readonly DeclaredThing[];
  /** Names of modules that are there, but have faults. */
  faultyModules: ReadonlySet<string>;
  /** Everything that is wrong, by file and place; nothing where it can be used. */
  faults: readonly FolderFault[];
}

/** One thing as a server has it. */
export interface PresentThing {
  kind: FolderKind;
  /** What names it in calls: its id, or its name. */
  id: string;
  /** Its name; of what has none that only one may have, what people call it. */
  name: string;
  version: number;
  managedBy: ManagedBy | null;
  /** Its fields in their canonical form. */
  values: JsonObject;
  /** Of a maintenance window: whether it is over for good. */
  hasEnded: boolean;
  /** Of a module: what uses it, as the API says it; of everything else nothing. */
  usedBy: readonly string[];
}
