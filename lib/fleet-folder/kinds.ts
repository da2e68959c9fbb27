/** What each kind of thing in a fleet folder is made of. */
import type { z } from "zod";
import { addOperatorInput } from "../access/schemas.ts";
import { createAssignmentInput } from "../assignments/schemas.ts";
import { idSchema, nameSchema, personNameSchema } from "../internal/common-schemas.ts";
import type { Json, JsonObject } from "../json.ts";
import { createWindowInput } from "../maintenance/schemas.ts";
import { createChannelInput } from "../notifications/schemas.ts";
import { createThresholdInput } from "../thresholds/schemas.ts";
import type { FolderKind } from "./fleet-folder.ts";

/** What a kind of thing is made of. */
export interface KindOfThing {
  /** One of them, for people. */
  noun: string;
  /** An entry as it is written; modules are texts of their own. */
  schema: z.ZodObject;
  /** Its name in the folder. */
  name: z.ZodType<string>;
  /** What a field is where nothing is said. */
  defaults: JsonObject;
  /** What a change says to take a field away that has no default; null where nothing else stands here. */
  emptied: JsonObject;
  /** Fields that can't be changed. */
  fixed: readonly string[];
  /** Fields that the server chooses where nothing is said, and that stay then. */
  free: readonly string[];
  /** The field that people call it by, where it has no name that only one may have. */
  title: string | null;
}

const plain = { defaults: {}, emptied: {}, fixed: [], free: [], title: null } satisfies Partial<KindOfThing>;
const withId = { id: idSchema.optional() };

/** Every kind of thing whose entries are written below its key. */
export const kindsOfThings: Readonly<Record<Exclude<FolderKind, "modules">, KindOfThing>> = {
  assignments: {
    ...plain,
    noun: "assignment",
    schema: createAssignmentInput.omit({ name: true, managed_by: true }),
    name: nameSchema,
    defaults: { enforce: false, unattended_removals: false },
    emptied: { description: "", params: {} },
  },
  windows: {
    ...plain,
    noun: "maintenance window",
    schema: createWindowInput.omit({ managed_by: true, ends_in_seconds: true }).extend(withId),
    name: nameSchema,
    free: ["starts_at"],
    title: "reason",
  },
  channels: {
    ...plain,
    noun: "channel",
    schema: createChannelInput.omit({ managed_by: true }).extend(withId),
    name: nameSchema,
    defaults: { events: ["*"], min_severity: "info", enabled: true, source: "notifications" },
    fixed: ["type", "source"],
    title: "name",
  },
  thresholds: {
    ...plain,
    noun: "threshold",
    schema: createThresholdInput.omit({ managed_by: true }).extend(withId),
    name: nameSchema,
    defaults: { for_seconds: 300, recovery_seconds: 60, severity: "warning", enabled: true },
    title: "name",
  },
  operators: {
    ...plain,
    noun: "operator",
    schema: addOperatorInput.omit({ username: true, managed_by: true }),
    name: personNameSchema,
    defaults: { role: "Operator" },
  },
};

/** One of a kind, for people. */
export function nounOf(kind: FolderKind): string {
  return kind === "modules" ? "module" : kindsOfThings[kind].noun;
}

/** The fields of a kind that are compared. */
export function fieldsOf(kind: FolderKind): readonly string[] {
  if (kind === "modules") return ["content"];
  return Object.keys(kindsOfThings[kind].schema.shape).filter((field) => field !== "id");
}

/** The fields that something has, each that has a default with it, and none that says nothing. */
export function withDefaults(kind: FolderKind, given: Readonly<Record<string, unknown>>): JsonObject {
  const values: JsonObject = {};
  const { defaults, emptied }: Pick<KindOfThing, "defaults" | "emptied"> =
    kind === "modules" ? plain : kindsOfThings[kind];
  for (const field of fieldsOf(kind)) {
    const value = (given[field] ?? defaults[field]) as Json | undefined;
    if (value === undefined || JSON.stringify(value) === JSON.stringify(emptied[field])) continue;
    values[field] = value;
  }
  return values;
}
