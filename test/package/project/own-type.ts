/** A type of resource of one's own: a note, which is a file that says one thing. */
import { z } from "zod";
import {
  defineResourceType,
  describeChange,
  resourceTypesWith,
  type Change,
  type ForeseenMachine,
  type Host,
  type Prior,
  type ResourcePlanning,
  type ResourceRemoving,
  type ResourceTriggering,
  type ResourceType,
  type ResourceTypes,
} from "fleetwright/ports";

export const noteSchema = z.strictObject({
  path: z.string().startsWith("/"),
  text: z.string().max(1000).nullable(),
});

export type NoteSpec = z.infer<typeof noteSchema>;

const planning: ResourcePlanning<NoteSpec> = {
  foresee: (spec: NoteSpec, changes: readonly Change[], machine: ForeseenMachine, signal: AbortSignal) =>
    apply(spec, changes, machine, signal),
};

const triggering: ResourceTriggering<NoteSpec> = {
  triggers: ["run"],
  async fire({ spec, changes }, host, signal) {
    apply(spec, changes, host, signal);
  },
};

const removing: ResourceRemoving<NoteSpec> = { priorSchema: noteSchema };

export const noteType: ResourceType<NoteSpec> = defineResourceType<NoteSpec>({
  type: "note",
  summary: "A file that says one thing.",
  schema: noteSchema,
  namespace: "path",
  identity: ({ path }) => path,
  identityBeginsWithPath: true,
  check({ path, text }, host): Change[] {
    const before = textAt(path, host);
    return before === text ? [] : [{ property: "text", before, after: text }];
  },
  apply,
  capture: ({ path }, host): Prior => ({ type: "note", spec: { path, text: textAt(path, host) } }),
  describe: describeChange,
  action: ([change]) => (change?.before === null ? "create" : change?.after === null ? "remove" : "update"),
  planning,
  triggering,
  removing,
});

/** All types that ship with the package, and this one. */
export const types: ResourceTypes = resourceTypesWith([noteType]);

function apply(
  { path, text }: NoteSpec,
  changes: readonly Change[],
  { files }: Host,
  signal: AbortSignal,
): void {
  if (changes.length === 0) return;
  signal.throwIfAborted();
  if (text === null) files.removeFile(path);
  else files.writeFile(path, new TextEncoder().encode(text), { mode: 0o644 });
}

function textAt(path: string, { files }: Host): string | null {
  return files.stat(path) ? new TextDecoder().decode(files.readFile(path)) : null;
}
