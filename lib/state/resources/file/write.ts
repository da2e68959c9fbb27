/** Putting the content of a file in its place: from the declaration or from a server, judged by a program first. */
import { OrchestratorError } from "../../../errors.ts";
import { hostError } from "../../../host/host-error.ts";
import type { WriteOptions } from "../../../host/host.ts";
import type { Machine } from "../shared/command.ts";
import { type ContentProperties, desiredContent } from "./content.ts";

/** What says which content, and who must accept it. */
export interface WriteProperties extends ContentProperties {
  source?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  max_size_bytes?: number | undefined;
  validate?: readonly [string, ...string[]] | undefined;
}

/**
 * Writes the declared content. `COMMAND_FAILED` where the program does not accept it; nothing is replaced then. A promise
 * only where it needs waiting: most of what is written is a text.
 */
export function writeContent(
  spec: WriteProperties,
  attributes: WriteOptions,
  machine: Machine,
): void | Promise<void> {
  const { path, validate } = spec;
  if (!validate) return put(spec, { path, attributes }, machine);
  return writeJudged({ ...spec, validate }, attributes, machine);
}

/**
 * Writes the declared content where it stands already, in a new file: what is to be downloaded is taken from there, if it still is
 * what was declared.
 */
export async function rewriteContent(
  spec: WriteProperties,
  attributes: WriteOptions,
  { host, signal }: Machine,
): Promise<void> {
  const { path } = spec;
  const content = desiredContent(spec);
  if (content) return host.files.writeFile(path, content, attributes);
  const { sha256 } = await host.backups.save(path, { signal });
  if (sha256 !== (spec.content_backup ?? spec.sha256)) throw hostError(path, "ESTALE");
  await host.backups.restore(sha256, path, { ...attributes, signal });
}

async function writeJudged(
  spec: WriteProperties & { validate: readonly [string, ...string[]] },
  attributes: WriteOptions,
  machine: Machine,
): Promise<void> {
  const { host, signal } = machine;
  const { path, validate } = spec;
  const slash = path.lastIndexOf("/");
  // Beside the file, so that relative includes work as they will; what a kill leaves is known by its name.
  const name = host.sha256(Buffer.from(path.slice(slash + 1))).slice(0, 16);
  const copy = `${path.slice(0, slash)}/.fleetwright-${host.mark}-${name}.validate`;
  const before = await standing(path, machine);
  // Nobody's but the agent's: its content must stay what is judged.
  await put(spec, { path: copy, attributes: { mode: 0o600, fresh: true } }, machine);
  try {
    await judge({ path, validate }, copy, machine);
    signal.throwIfAborted();
    // A judge may take long, and what somebody wrote meanwhile is nothing that a removal could bring back.
    if ((await standing(path, machine)) !== before) throw hostError(path, "ESTALE");
    if (spec.source === undefined) await put(spec, { path, attributes }, machine);
    // What was judged, not what the server would give by now.
    else {
      const { sha256 } = await host.backups.save(copy, { signal });
      if (sha256 !== spec.sha256) throw hostError(copy, "ESTALE");
      await host.backups.restore(sha256, path, { ...attributes, signal });
    }
  } finally {
    if (host.files.stat(copy)) host.files.removeFile(copy);
  }
}

/** What stands at a path, so that another thing there is told from it. */
async function standing(path: string, { host, signal }: Machine): Promise<string> {
  const stat = host.files.stat(path);
  const content = stat?.kind === "file" ? await host.files.hashFile(path, signal) : null;
  const target = stat?.kind === "symlink" ? host.files.readLink(path) : null;
  return JSON.stringify([stat, content, target]);
}

function put(
  spec: WriteProperties,
  place: { path: string; attributes: WriteOptions },
  { host, signal }: Machine,
): void | Promise<void> {
  signal.throwIfAborted();
  const { source, sha256 = "", headers, max_size_bytes: maxBytes } = spec;
  if (source === undefined) {
    host.files.writeFile(place.path, desiredContent(spec) ?? new Uint8Array(), place.attributes);
    return;
  }
  const limits = { ...(headers && { headers }), ...(maxBytes !== undefined && { maxBytes }) };
  return host.download({ url: source, sha256, ...place, ...limits }, signal).then(() => undefined);
}

async function judge(
  { path, validate }: { path: string; validate: readonly [string, ...string[]] },
  copy: string,
  { host, signal }: Machine,
): Promise<void> {
  const [program, ...args] = validate;
  const opens = { [`%${copy}`]: copy };
  const words = args.map((argument) => (argument === "%" ? `%${copy}` : argument));
  const { exitCode } = await host.run({ argv: [program, ...words], opens, judges: true }, signal);
  if (exitCode === 0) return;
  throw new OrchestratorError("COMMAND_FAILED", {
    message: `${program} does not accept the content of ${path}.`,
    details: { path, exit_code: exitCode },
  });
}
