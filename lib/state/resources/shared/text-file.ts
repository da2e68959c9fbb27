/** Text files of which a resource owns a part. */
import { OrchestratorError } from "../../../errors.ts";
import type { FileStat, Host, HostFiles } from "../../../host/host.ts";
import type { Change } from "../../result.ts";
import { decodeText } from "../../text-diff.ts";
import { obstacle } from "./obstacle.ts";

/** Larger files are not taken apart. */
const maxFileBytes = 16 * 1024 * 1024;

/** The file as text; null where there is none, perhaps not yet. `HOST_ERROR` where it is no text file of up to 16 MiB, or not as `expected`. */
export function readText(
  path: string,
  { files, expected }: { files: HostFiles; expected?: FileStat | null },
): string | null {
  const stat = expected ?? files.stat(path);
  const refuse = (why: string): OrchestratorError =>
    new OrchestratorError("HOST_ERROR", { message: `${path} ${why}.`, details: { path } });
  if (!stat) return null;
  if (stat.kind !== "file") throw obstacle(path, stat);
  if (stat.sizeBytes > maxFileBytes) throw refuse("is larger than 16 MiB");
  const text = decodeText(files.readFile(path, expected ?? undefined));
  if (text === null) throw refuse("is not UTF-8 text");
  return text;
}

/** Writes a text file, which nobody sees half written; a new one is "0644". */
export function writeText(path: string, text: string, host: Host): void {
  host.files.writeFile(path, Buffer.from(text), host.files.stat(path) ? {} : { mode: 0o644 });
}

/** What is left to bring back in a file whose part stands as it did: its place, line ends, or that there was no file. */
export function fileChanges(
  { remove_empty }: { remove_empty?: unknown },
  text: string | null,
  edited: string,
): Change[] {
  if (text === null) return [];
  if (remove_empty === true && edited === "") return [{ property: "file", before: "empty", after: "absent" }];
  return edited === text ? [] : [{ property: "file", before: "edited", after: "as it was" }];
}

/** Lines of a text, without the empty one after its last line break. */
export function splitLines(text: string | null): string[] {
  if (text === null || text === "") return [];
  return (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
}

/** The text of lines. */
export function joinLines(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
