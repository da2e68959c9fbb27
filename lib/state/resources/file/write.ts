/** Putting the content of a file in its place: from the declaration or from a server, judged by a program first. */
import { OrchestratorError } from "../../../errors.ts";
import type { FileAttributes } from "../../../host/host.ts";
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
  attributes: FileAttributes,
  machine: Machine,
): void | Promise<void> {
  const { path, validate } = spec;
  if (!validate) return put(spec, { path, attributes }, machine);
  return writeJudged({ ...spec, validate }, attributes, machine);
}

async function writeJudged(
  spec: WriteProperties & { validate: readonly [string, ...string[]] },
  attributes: FileAttributes,
  machine: Machine,
): Promise<void> {
  const { host, signal } = machine;
  const { path, validate } = spec;
  const slash = path.lastIndexOf("/");
  // Beside the file, so that relative includes work as they will.
  const copy = `${path.slice(0, slash)}/.${path.slice(slash + 1)}.validate`;
  await put(spec, { path: copy, attributes: { ...attributes, mode: 0o600 } }, machine);
  try {
    await judge({ path, validate }, copy, machine);
    signal.throwIfAborted();
    if (spec.source === undefined) await put(spec, { path, attributes }, machine);
    // What was judged, not what the server would give by now.
    else {
      const { sha256 } = await host.backups.save(copy, { signal });
      await host.backups.restore(sha256, path, { ...attributes, signal });
    }
  } finally {
    host.files.removeFile(copy);
  }
}

function put(
  spec: WriteProperties,
  place: { path: string; attributes: FileAttributes },
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
  const argv = [program, ...args.map((argument) => (argument === "%" ? copy : argument))] as const;
  const { exitCode } = await host.run({ argv: [...argv] }, signal);
  if (exitCode === 0) return;
  throw new OrchestratorError("COMMAND_FAILED", {
    message: `${program} does not accept the content of ${path}.`,
    details: { path, exit_code: exitCode },
  });
}
