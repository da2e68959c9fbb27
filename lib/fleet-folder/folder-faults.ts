/** Faults of a fleet folder, gathered over its files. */
import type { z } from "zod";
import { isOrchestratorError, type ErrorCode, type Issue } from "../errors.ts";
import { isOfPlace, withoutEchoes } from "../internal/schema-issues.ts";
import { notKnown } from "../internal/schema-keys.ts";
import { inWordsOfYaml, type YamlText } from "../module-format/yaml-text.ts";
import type { DeclaredThing, FolderFault } from "./fleet-folder.ts";

/** Puts faults into the order of files and places. */
export function inOrder(faults: readonly FolderFault[]): FolderFault[] {
  return faults.toSorted(
    (a, b) => compare(a.file, b.file) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

/** What a schema found in a part of a text, with the place of each. */
export function toFaults(
  error: z.core.$ZodError,
  {
    file,
    text,
    base,
    schema,
  }: { file: string; text: YamlText; base: Issue["path"]; schema: z.core.$ZodType },
): FolderFault[] {
  const code = "VALIDATION_FAILED";
  return withoutEchoes(error.issues).flatMap((issue) => {
    const inner = issue.path.map((key) => (typeof key === "symbol" ? String(key) : key));
    const path = [...base, ...inner];
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => {
        const message = notKnown(key, { schema, path: inner });
        return { file, code, path: [...path, key], message, ...text.place([...path, key], "key") };
      });
    if (isOfPlace(issue.code) && text.lacks(path))
      return [{ file, code, path, message: `"${String(path.at(-1))}" is missing.`, ...text.place(path) }];
    return [{ file, code, path, message: inWordsOfYaml(issue), ...text.place(path) }];
  });
}

/** A fault of a thing, at its place. */
export function faultOf(
  { kind, name, file, at }: Pick<DeclaredThing, "kind" | "name" | "file" | "at">,
  { code, path, message }: Refusal,
): FolderFault {
  const place = path.length === 0 ? at() : at(path);
  return { file, code, path: [kind, name, ...path], message, ...place };
}

/** What is refused of a thing: its path begins within the thing. */
export interface Refusal {
  code: ErrorCode;
  path: Issue["path"];
  message: string;
}

/** What a rule of the server refuses by what it throws; nothing where it takes all. What else is thrown goes through. */
export function refusalsOf(rule: () => void): Refusal[] {
  try {
    rule();
    return [];
  } catch (error) {
    if (!isOrchestratorError(error)) throw error;
    const { code, message, issues } = error;
    // Of a template the places are those in its module.
    if (issues.length === 0 || code === "TEMPLATE_FAILED") return [{ code, path: [], message }];
    return issues.map((issue) => ({ code, path: issue.path, message: issue.message }));
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
