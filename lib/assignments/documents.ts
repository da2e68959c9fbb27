import type { Json } from "../internal/json.ts";
import type { CollectionDefinition } from "../storage/storage.ts";

/** An assignment as stored, under its name. */
export interface AssignmentDocument {
  name: string;
  description?: string;
  /** As the grammar prints it. */
  selector: string;
  modules: string[];
  /** Values for the params of its modules; absent = none. */
  params?: { [key: string]: Json };
  created_at: string;
  created_by: string;
}

/** What the assignments feature keeps. */
export const assignmentCollections = {
  assignments: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;
