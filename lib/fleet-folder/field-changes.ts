/** Which fields of a thing differ, and what a change of them says. */
import { isSameJson, type Json, type JsonObject } from "../json.ts";
import { hidden } from "../state/result.ts";
import type { FolderKind } from "./fleet-folder.ts";
import { fieldsOf, kindsOfThings } from "./kinds.ts";

/** A field that differs. Without `before` and `after` its values are not told, since they may be secret. */
export interface FieldChange {
  /** Its name, within another one after a dot: `params.port`. */
  field: string;
  before?: Json;
  after?: Json;
}

/** Fields of which only the names of what is in them are told. */
const untold = ["params", "config", "template"];

/** The fields that differ between what is there and what is to be. */
export function changesBetween(kind: FolderKind, before: JsonObject, after: JsonObject): FieldChange[] {
  if (kind === "modules") return before["content"] === after["content"] ? [] : [{ field: "content" }];
  const { free } = kindsOfThings[kind];
  return fieldsOf(kind).flatMap((field) => {
    const [old, fresh] = [before[field], after[field]];
    if (isSameJson(old, fresh) || (fresh === undefined && free.includes(field))) return [];
    if (untold.includes(field)) return namesThatDiffer(field, old, fresh);
    return [{ field, before: old ?? null, after: fresh ?? null }];
  });
}

/** What an update says: the fields that differ, and for one that is to go what takes it away. */
export function toChange(
  kind: Exclude<FolderKind, "modules">,
  fields: ReadonlySet<string>,
  values: JsonObject,
): JsonObject {
  const { defaults, emptied } = kindsOfThings[kind];
  const changes: JsonObject = {};
  for (const field of fieldsOf(kind))
    if (fields.has(field)) changes[field] = values[field] ?? defaults[field] ?? emptied[field] ?? null;
  // The call that changes an operator always says the role.
  if (kind === "operators") changes["role"] = values["role"]!;
  return changes;
}

function namesThatDiffer(field: string, before: Json | undefined, after: Json | undefined): FieldChange[] {
  const [old, fresh] = [inside(before), inside(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(fresh)]);
  return (
    [...names]
      // Who may not see a value can't tell whether it differs.
      .filter((name) => old[name] !== hidden && !isSameJson(old[name], fresh[name]))
      .sort()
      .map((name) => ({ field: `${field}.${name}` }))
  );
}

function inside(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}
