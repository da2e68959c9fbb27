import type { z } from "zod";
import { isOrchestratorError, type ErrorCode, type Issue } from "../errors.ts";
import { didYouMean } from "../internal/check-options.ts";
import { nameSchema } from "../internal/common-schemas.ts";
import { finish, WorkBudget, WorkExceeded } from "../internal/work.ts";
import type { JsonObject } from "../json.ts";
import { parseModule } from "../module-format/module-document.ts";
import { moduleLimits } from "../module-format/module-schema.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import { inWordsOfYaml, YamlText } from "../module-format/yaml-text.ts";
import { toCanonical } from "./canonical.ts";
import { findPlainSecrets } from "./channel-secrets.ts";
import { findRefusals } from "./entry-rules.ts";
import {
  folderKinds,
  type DeclaredThing,
  type FleetFolder,
  type FolderFault,
  type FolderFile,
  type FolderKind,
} from "./fleet-folder.ts";
import { faultOf, inOrder, toFaults } from "./folder-faults.ts";
import { findFolderFaults } from "./folder-rules.ts";
import { kindsOfThings, nounOf, withDefaults } from "./kinds.ts";

type EntryKind = keyof typeof kindsOfThings;

const entryKinds = Object.keys(kindsOfThings) as EntryKind[];
const label = "label";

/**
 * Reads the files of a fleet folder. Never throws for what is in them: every fault of every file is told, with file, line and column, and
 * what could be read is there beside them.
 *
 * @param files - Those that may be read, in any order: modules are below `modules/`.
 */
export function readFleetFolder(files: readonly FolderFile[]): FleetFolder {
  const reader = new FolderReader();
  for (const file of files) reader.read(file);
  return reader.end();
}

/** What is declared, and where. */
type Place = Pick<DeclaredThing, "kind" | "name" | "file" | "at">;

class FolderReader {
  readonly #things: DeclaredThing[] = [];
  readonly #faults: FolderFault[] = [];
  readonly #faultyModules = new Set<string>();
  readonly #modules = new Map<string, ParsedModule>();
  /** By kind and name in lower case. */
  readonly #seen = new Map<string, Place>();
  #hasFaultyLabel = false;
  #label: { text: string; place: FleetFolder["labelPlace"] } | null = null;

  read(file: FolderFile): void {
    if (file.path.startsWith("modules/")) this.#readModule(file);
    else this.#readEntries(file);
  }

  end(): FleetFolder {
    if (this.#label === null && !this.#hasFaultyLabel) {
      const message = '"label" is missing: one file says whose folder it is, e.g. label: shop';
      this.#fault("fleet.yaml", { path: [label], message, line: 1, column: 1 });
    }
    this.#faults.push(...findFolderFaults(this.#things, this.#modules));
    return {
      label: this.#label?.text ?? null,
      labelPlace: this.#label?.place ?? { file: "fleet.yaml", line: 1, column: 1 },
      things: this.#things,
      faultyModules: this.#faultyModules,
      faults: inOrder(this.#faults),
    };
  }

  #readModule({ path, text }: FolderFile): void {
    try {
      const module = parseModule(text);
      const { name, requires, requiredAt } = module;
      const at = (within: Issue["path"] = []) =>
        (within[0] === "requires" ? requiredAt[Number(within[1])] : undefined) ?? { line: 1, column: 1 };
      this.#requireNew({ kind: "modules", name, file: path, at });
      this.#modules.set(name, this.#modules.get(name) ?? module);
      this.#things.push({ kind: "modules", name, values: { content: text }, requires, file: path, at });
    } catch (error) {
      const name = /^name:[ \t]*["']?([a-z0-9][a-z0-9._-]{0,63})/m.exec(text)?.[1];
      if (name !== undefined) this.#faultyModules.add(name);
      if (isOrchestratorError(error, "MODULE_INVALID"))
        for (const issue of error.issues) this.#fault(path, issue, error.code);
      else if (error instanceof WorkExceeded) this.#fault(path, tooMuch);
      else throw error;
    }
  }

  #readEntries({ path: file, text: source }: FolderFile): void {
    const text = this.#yaml(file, source);
    if (!text) return;
    const { value } = text;
    if (value === null) return;
    if (!isMap(value))
      return this.#fault(file, { path: [], message: "The file must be a map.", ...text.place([]) });
    if (isModuleText(value)) {
      const message = "This is a module: have its file below modules/.";
      return this.#fault(file, { path: [], message, ...text.place([]) });
    }
    for (const key of Object.keys(value)) {
      if (key === label) this.#readLabel(file, text);
      else if (entryKinds.includes(key as EntryKind)) this.#readKind(file, text, key as EntryKind);
      else {
        const hint = didYouMean(key, [label, ...entryKinds]) || ".";
        const meant = key === "modules" ? ": each module is a file below modules/." : hint;
        this.#fault(file, {
          path: [key],
          message: `"${key}" is not known here${meant}`,
          ...text.place([key], "key"),
        });
      }
    }
  }

  #yaml(file: string, source: string): YamlText | null {
    try {
      const budget = new WorkBudget(moduleLimits.steps);
      const text = finish(YamlText.read(source, moduleLimits, budget));
      for (const issue of text.issues) this.#fault(file, issue);
      return text.broken ? null : text;
    } catch (error) {
      if (!(error instanceof WorkExceeded)) throw error;
      this.#fault(file, tooMuch);
      return null;
    }
  }

  #readLabel(file: string, text: YamlText): void {
    const place = text.place([label]);
    const read = nameSchema.safeParse((text.value as JsonObject)[label]);
    const issue = { path: [label], ...place };
    if (!read.success) {
      this.#hasFaultyLabel = true;
      return this.#fault(file, { ...issue, message: inWordsOfYaml(read.error.issues[0]!) });
    }
    if (this.#label) {
      const first = this.#label.place;
      const message = `The label is said in ${first.file}:${first.line}:${first.column} already.`;
      return this.#fault(file, { ...issue, message });
    }
    this.#label = { text: read.data, place: { file, ...place } };
  }

  #readKind(file: string, text: YamlText, kind: EntryKind): void {
    const entries = (text.value as JsonObject)[kind];
    if (entries === null || entries === undefined) return;
    if (!isMap(entries)) {
      const message = `"${kind}" must be a map: each ${nounOf(kind)} under its name.`;
      return this.#fault(file, { path: [kind], message, ...text.place([kind]) });
    }
    for (const name of Object.keys(entries)) this.#readEntry({ file, text, kind }, name, entries[name]);
  }

  #readEntry(
    { file, text, kind }: { file: string; text: YamlText; kind: EntryKind },
    name: string,
    entry: unknown,
  ): void {
    const { schema, name: named } = kindsOfThings[kind];
    const base = [kind, name];
    const at = (within?: Issue["path"]) =>
      within ? text.place([...base, ...within]) : text.place(base, "key");
    const nameFault = named.safeParse(name);
    if (!nameFault.success)
      this.#fault(file, {
        path: base,
        message: `${JSON.stringify(name)}: ${inWordsOfYaml(nameFault.error.issues[0]!)}`,
        ...at(),
      });
    this.#requireNew({ kind, name, file, at });
    const read: z.ZodSafeParseResult<Record<string, unknown>> = schema.safeParse(entry);
    if (!read.success)
      for (const fault of toFaults(read.error, { file, text, base, schema })) this.#fault(file, fault);
    // One fault hides no other.
    const { values, faults } = toCanonical(
      read.success ? withDefaults(kind, read.data) : soundTexts(entry, read.error),
    );
    for (const refusal of [...faults, ...(isMap(entry) ? findRefusals(kind, entry) : [])])
      this.#faults.push(faultOf({ kind, name, file, at }, refusal));
    if (!read.success) return;
    if (kind === "channels")
      for (const { path, message } of findPlainSecrets(values))
        this.#faults.push(faultOf({ kind, name, file, at }, { code: "VALIDATION_FAILED", path, message }));
    const { id } = read.data;
    const known = typeof id === "string" ? { id } : {};
    this.#things.push({ kind, name, ...known, values, requires: [], file, at });
  }

  #requireNew(thing: Place): void {
    const { kind, name } = thing;
    const key = `${kind}/${name.toLowerCase()}`;
    const first = this.#seen.get(key);
    if (!first) return void this.#seen.set(key, thing);
    const { line, column } = first.at();
    const place = `${first.file}:${line}:${column}`;
    const message =
      first.name === name
        ? `The ${nounOf(kind)} ${name} is declared in ${place} already.`
        : `The ${nounOf(kind)} ${name} differs from ${first.name} of ${place} in case only.`;
    this.#faults.push(faultOf(thing, { code: "ALREADY_EXISTS", path: [], message }));
  }

  #fault(file: string, issue: Issue, code: ErrorCode = "VALIDATION_FAILED"): void {
    this.#faults.push({ ...issue, file, code });
  }
}

const tooMuch: Issue = { path: [], message: "The text takes too much to read.", line: 1, column: 1 };

/** Things in the order in which they are made. */
export function byKind<Thing extends { kind: FolderKind; name: string }>(things: readonly Thing[]): Thing[] {
  return things.toSorted(
    (a, b) => folderKinds.indexOf(a.kind) - folderKinds.indexOf(b.kind) || (a.name < b.name ? -1 : 1),
  );
}

/** The texts of an entry that have a form of their own, whatever is wrong with the rest of it. */
function soundTexts(entry: unknown, { issues }: z.ZodError): JsonObject {
  if (!isMap(entry)) return {};
  const faulty = new Set(issues.map(({ path }) => path[0]));
  return Object.fromEntries(
    ["selector", "public_key"]
      .filter((field) => typeof entry[field] === "string" && !faulty.has(field))
      .map((field) => [field, entry[field]!]),
  );
}

/** Whether what stands outside of `modules/` belongs there. */
function isModuleText(value: JsonObject): boolean {
  return Object.hasOwn(value, "name") && Object.hasOwn(value, "resources");
}

function isMap(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
