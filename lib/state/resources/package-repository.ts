/**
 * A source of packages for apt, dnf or apk, with the key that signs it.
 *
 * Owns the files named after it, and in `/etc/apk/repositories` the lines between its two marks; never another source.
 * After a change the index of this source is fetched; where that fails the files are as before, because one broken
 * source stops every installation. Until it is fetched a comment in the source says so: who is ended in between leaves a
 * source that is found to differ.
 *
 * @example
 * ```yaml
 * - type: package_repository
 *   name: nginx
 *   uris: ["https://nginx.org/packages/debian"]
 *   suites: [bookworm]
 *   components: [nginx]
 *   key: "{{ params.nginx_key }}"
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { toJsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { diffText } from "../text-diff.ts";
import { type RepositoryLayout, repositoryLayouts } from "./package/repository.ts";
import { act, type Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import { captureKept, keptAttributes, keptFileSchema } from "./shared/kept-file.ts";
import { missing } from "./shared/obstacle.ts";
import { refuseConfined } from "./shared/platform.ts";
import { ensureSchema, pathSchema } from "./shared/properties.ts";
import { readText } from "./shared/text-file.ts";

const uri = z
  .string()
  .max(1000)
  // Every user of the machine may read it, so no password goes in it.
  .regex(
    /^[a-z][a-z0-9+.-]*:(?!\/\/[^/\s]*@)[^\s"\\,]+$/,
    "must be a URI without spaces and without a password",
  );

const word = z.string().regex(/^[A-Za-z0-9./][A-Za-z0-9._~+/-]{0,199}$/, "must be one word");

const providerSchema = z.enum(["apt", "dnf", "apk"]);

const properties = z.strictObject({
  /** Names the files. With apk the key is looked for under this name, so it must be the one the archive signs with. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/, "must be letters, digits, dots, dashes or underscores"),
  ensure: ensureSchema.default("present"),
  /** Default: the one that the machine has. */
  provider: providerSchema.optional(),
  /** Where the archive is; several are mirrors of one. */
  uris: z.array(uri).min(1).max(20).optional(),
  /** apt: names of releases; one that ends in "/" is a path, without components. */
  suites: z.array(word).min(1).max(20).optional(),
  /** apt and apk: parts of the archive. */
  components: z.array(word).max(50).optional(),
  /** apt: default: those of the machine. */
  architectures: z.array(word).max(20).optional(),
  /** The public key, armored as PGP or, for apk, as PEM. */
  key: z
    .string()
    .max(262_144)
    .regex(/^\s*-----BEGIN (?:PGP )?PUBLIC KEY/, "must be an armored public key")
    .optional(),
  /** The file of a public key that is there, or that another resource puts there. Not with apk. */
  key_path: pathSchema.optional(),
});

export const packageRepositorySchema = properties
  .refine((spec) => spec.ensure === "absent" || spec.uris !== undefined, {
    path: ["uris"],
    message: "is required",
  })
  .refine((spec) => spec.key === undefined || spec.key_path === undefined, {
    path: ["key_path"],
    message: "can't be given beside key",
  });

const stoodShape = {
  /** Texts of what stood before, and what their files had beside these; null = nothing. */
  before: z.strictObject({ key: z.string().nullable(), source: z.string().nullable() }).optional(),
  kept: z.strictObject({ key: keptFileSchema.nullable(), source: keptFileSchema.nullable() }).optional(),
};

const packageRepositoryPriorSchema = properties.extend({
  ...stoodShape,
  /** What stood with other package managers, before later versions named them. */
  elsewhere: z
    .array(z.strictObject({ provider: providerSchema, ...stoodShape }))
    .max(3)
    .optional(),
});

/** Properties of a `package_repository`, and those of a captured one. */
export type PackageRepositorySpec = z.infer<typeof packageRepositoryPriorSchema>;

/** What of it stands, or is to stand. */
type Texts = Record<"key" | "source", string | null>;

export const packageRepositoryResourceType = defineResourceType<PackageRepositorySpec>({
  type: "package_repository",
  summary: "A source of packages with its key.",
  schema: packageRepositorySchema,
  identity: (spec) => spec.name,
  // Which of them it is, the machine says.
  paths: ({ name }) =>
    Object.values(repositoryLayouts).flatMap((layout) => Object.values(layout.paths(name))),
  check,
  apply,
  capture,
  describe: describeChange,
  removing: {
    priorSchema: packageRepositoryPriorSchema,
    extendPrior,
    asDeclared: (prior, { key_path }) =>
      key_path === undefined ? prior : { ...prior, spec: { ...prior.spec, key_path } },
  },
});

function check(spec: PackageRepositorySpec, host: Host): Change[] {
  refuseConfined(host, "package_repository");
  return everywhere(spec).flatMap((each) => compare(each, host));
}

/** What is to stand, with each package manager that versions of the source named. */
function everywhere({ elsewhere = [], ...spec }: PackageRepositorySpec): PackageRepositorySpec[] {
  return [spec, ...elsewhere.map((stood) => ({ ...spec, ...stood }))];
}

function compare(spec: PackageRepositorySpec, host: Host): Change[] {
  const [before, after] = [read(spec, host), wanted(spec, host)];
  const changes: Change[] = [];
  const [stood, stands] = [before.source !== null, after.source !== null];
  const left = !stands && before.key !== after.key;
  if (stood !== stands || left)
    changes.push({ property: "ensure", before: print(stood || left), after: print(stands) });
  if (!stands) return changes;
  for (const property of ["source", "key"] as const) {
    if (before[property] === after[property]) continue;
    const [old, next] = [before[property] ?? "", after[property] ?? ""];
    const change: Change = { property, before: digest(old, host), after: digest(next, host) };
    const diff = diffText(property, Buffer.from(old), Buffer.from(next));
    changes.push(diff === null ? change : { ...change, diff });
  }
  return changes;
}

async function apply(
  spec: PackageRepositorySpec,
  _changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  for (const each of everywhere(spec))
    if (compare(each, host).length > 0) await bring(each, { host, signal });
}

async function bring(spec: PackageRepositorySpec, { host, signal }: Machine): Promise<void> {
  const layout = layoutOf(spec, host);
  const [before, after] = [read(spec, host), wanted(spec, host)];
  signal.throwIfAborted();
  if (after.source === null || !host.files.stat(layout.folder)) return write(spec, after, { host, signal });
  const isUntried = before.source?.startsWith(newSourceMark) === true;
  const isNewKey = !isUntried && withoutMark(before.source ?? "") === after.source;
  const mark = isNewKey ? newKeyMark : newSourceMark;
  const marked = `${mark}${after.source}`;
  // By a new key alone nobody could tell.
  if (isNewKey) write(spec, { ...before, source: marked }, { host, signal });
  write(spec, { ...after, source: marked }, { host, signal });
  signal.throwIfAborted();
  try {
    await act({ argv: layout.refresh(spec.name) }, { host, signal });
    write(spec, after, { host, signal });
  } catch (error) {
    // What an earlier try was ended at never worked, and nobody knows any more what stood in its place; what comes back did.
    const old = isUntried && spec.before === undefined ? nothing : before;
    write(spec, old, { host, signal: new AbortController().signal });
    throw error;
  }
}

function capture(spec: PackageRepositorySpec, host: Host): Prior {
  const { name } = spec;
  // The key, too, that is another's now: a later version may bring one of its own.
  const found = readAll(spec, host);
  const before = { ...found, source: found.source && withoutMark(found.source) };
  const ensure = before.source === null ? "absent" : "present";
  const paths = layoutOf(spec, host).paths(name);
  const kept = { key: captureKept(paths.key, host), source: captureKept(paths.source, host) };
  // The machine may have others by the time that it comes back.
  return {
    type: "package_repository",
    spec: { name, ensure, before, kept, provider: providerOf(spec, host) },
  };
}

/** A later version may name another package manager, or be the first that finds another. */
function extendPrior(prior: Prior, spec: PackageRepositorySpec, host: Host): Prior {
  if (prior.type !== "package_repository") return prior;
  const known = packageRepositoryPriorSchema.parse(prior.spec);
  const { elsewhere = [] } = known;
  const provider = providerOf(spec, host);
  const noted = [known.provider ?? providerOf(known, host), ...elsewhere.map((stood) => stood.provider)];
  if (noted.includes(provider)) return prior;
  const { before, kept } = packageRepositoryPriorSchema.parse(capture({ ...spec, provider }, host).spec);
  return {
    ...prior,
    spec: toJsonObject({ ...prior.spec, elsewhere: [...elsewhere, { provider, before, kept }] }),
  };
}

const nothing: Texts = { key: null, source: null };
/** Every package manager leaves such lines out. The second is of a source that was fetched by another key. */
const newSourceMark = "# Its index is not fetched yet.\n";
const newKeyMark = "# Its index is not fetched by its key yet.\n";

function withoutMark(source: string): string {
  const mark = [newSourceMark, newKeyMark].find((each) => source.startsWith(each)) ?? "";
  return source.slice(mark.length);
}

/** The key first, and gone last: no source stands without its key. */
function write(spec: PackageRepositorySpec, texts: Texts, { host, signal }: Machine): void {
  const layout = layoutOf(spec, host);
  const { files } = host;
  const parts = texts.source === null ? (["source", "key"] as const) : (["key", "source"] as const);
  const order = ownsKey(spec, host) ? parts : (["source"] as const);
  for (const part of order) {
    const path = layout.paths(spec.name)[part];
    const old = readText(path, host);
    const next = part === "source" ? layout.withSource(old, texts.source, spec.name) : texts.key;
    if (next === old) continue;
    signal.throwIfAborted();
    if (next === null) files.removeFile(path);
    else {
      makeFolder(path, { host, signal });
      signal.throwIfAborted();
      files.writeFile(path, Buffer.from(next), keptAttributes(path, spec.kept?.[part], host));
    }
  }
}

/** Older releases have no folder for keys, and a package manager that is not the machine's own none of these. */
function makeFolder(path: string, machine: Machine): void {
  const [{ files }, folder] = [machine.host, path.slice(0, path.lastIndexOf("/"))];
  if (folder === "" || files.stat(folder)) return;
  makeFolder(folder, machine);
  machine.signal.throwIfAborted();
  files.makeDirectory(folder, { mode: 0o755 });
}

/** A key at the path of our own that another resource is said to put there is that one's. */
function ownsKey(spec: PackageRepositorySpec, host: Host): boolean {
  return spec.key_path !== layoutOf(spec, host).paths(spec.name).key;
}

function read(spec: PackageRepositorySpec, host: Host): Texts {
  const found = readAll(spec, host);
  return ownsKey(spec, host) ? found : { ...found, key: null };
}

function readAll(spec: PackageRepositorySpec, host: Host): Texts {
  const layout = layoutOf(spec, host);
  const paths = layout.paths(spec.name);
  const source = layout.sourceIn(readText(paths.source, host), spec.name);
  return { key: readText(paths.key, host), source };
}

function wanted(spec: PackageRepositorySpec, host: Host): Texts {
  if (spec.before) return ownsKey(spec, host) ? spec.before : { ...spec.before, key: null };
  if (spec.ensure === "absent" || spec.uris === undefined) return { key: null, source: null };
  const key = spec.key === undefined ? null : `${spec.key.trim()}\n`;
  const layout = layoutOf(spec, host);
  const keyPath = spec.key_path ?? (key === null ? null : layout.paths(spec.name).key);
  return { key, source: layout.print({ ...spec, uris: spec.uris, keyPath }) };
}

function layoutOf(spec: PackageRepositorySpec, host: Host): RepositoryLayout {
  return repositoryLayouts[providerOf(spec, host)];
}

function providerOf({ provider, before }: PackageRepositorySpec, host: Host): z.infer<typeof providerSchema> {
  // What was made with one that is gone goes all the same.
  if (provider !== undefined && before !== undefined) return provider;
  const all = provider ? [provider] : providerSchema.options;
  const found = all.find((name) => host.files.stat(repositoryLayouts[name].folder) !== null);
  if (found) return found;
  const message = `${all.join(", ")} is not on this machine.`;
  throw missing(message, { provider: provider ?? null });
}

function digest(content: string, host: Host): string | null {
  return content === "" ? null : `sha256:${host.sha256(Buffer.from(content))}`;
}

const print = (stands: boolean): string => (stands ? "present" : "absent");
