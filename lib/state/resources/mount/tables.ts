/** What is to be mounted (/etc/fstab) and what is (/proc/self/mountinfo). */
import { OrchestratorError } from "../../../errors.ts";
import type { Host } from "../../../host/host.ts";
import { readText, splitLines } from "../shared/text-file.ts";
import { type TextLine, toLines } from "../shared/text-lines.ts";

export const fstabPath = "/etc/fstab";
export const mountinfoPath = "/proc/self/mountinfo";

/** A line of /etc/fstab. */
export interface FstabEntry {
  device: string;
  path: string;
  fstype: string;
  options: string;
  dump: number;
  pass: number;
}

/** A mounted file system. */
export interface MountedEntry {
  device: string;
  path: string;
  fstype: string;
  /** Options of the mount, such as "ro"; those of the file system itself are not here. */
  options: string[];
}

/** What parts the fields of a table; other blanks, such as U+3000, are letters to the kernel and to mount(8). */
const escapes = /[ \t\n\\#]/g;

export function escapeField(text: string): string {
  return text.replace(escapes, (mark) => `\\${mark.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

export function unescapeField(field: string): string {
  return field.replace(/(?:\\[0-7]{3})+/g, (bytes) => {
    const numbers = bytes.slice(1).split("\\");
    return new TextDecoder().decode(Uint8Array.from(numbers, (octal) => Number.parseInt(octal, 8)));
  });
}

/** An entry as a line. */
export function printFstab({ device, path, fstype, options, dump, pass }: FstabEntry): string {
  return [...[device, path, fstype, options].map(escapeField), dump, pass].join(" ");
}

/** A line as an entry; null for a comment or an empty one. */
export function parseFstab(line: string): FstabEntry | null {
  if (/^[ \t]*(?:#|$)/.test(line)) return null;
  const [device = "", path = "", fstype = "", options = "defaults", dump, pass] = line
    .split(/[ \t]+/)
    .filter((field) => field !== "")
    .map(unescapeField);
  return { device, path, fstype, options, dump: Number(dump ?? 0), pass: Number(pass ?? 0) };
}

/** The lines of /etc/fstab, and which of them is about a path: -1 = none. `HOST_ERROR` where more than one is. */
export function readFstab(path: string, host: Host): FoundLine & { text: string | null } {
  const text = readText(fstabPath, host);
  return { text, ...findFstab(path, text) };
}

/** The lines of a table of file systems, and which of them is about a path: -1 = none. */
interface FoundLine {
  lines: TextLine[];
  at: number;
}

/** The same of the text of such a file. `HOST_ERROR` where more than one line is about the path. */
export function findFstab(path: string, text: string | null): FoundLine {
  const lines = toLines(text);
  const own = [...lines.keys()].filter((at) => parseFstab(lines[at]?.text ?? "")?.path === path);
  if (own.length <= 1) return { lines, at: own[0] ?? -1 };
  throw new OrchestratorError("HOST_ERROR", {
    message: `${own.length} lines of ${fstabPath} are about ${path}.`,
    details: { path: fstabPath, lines: own.map((at) => at + 1) },
  });
}

/** Every mounted file system, in the order in which they were mounted; none where the system has no such table. */
export function listMounted({ files }: Pick<Host, "files">): MountedEntry[] {
  if (files.stat(mountinfoPath)?.kind !== "file") return [];
  // Paths are bytes to the kernel; one that is no UTF-8 is nobody's whom a module could name.
  const text = new TextDecoder().decode(files.readFile(mountinfoPath));
  return splitLines(text).map((line) => {
    // "36 35 98:0 /root /path rw,noatime shared:1 - ext4 /dev/root rw": optional fields end with a dash.
    const [before = "", after = ""] = line.split(" - ");
    const fields = before.split(" ");
    const [fstype = "", device = ""] = after.split(" ");
    return {
      device: unescapeField(device),
      path: unescapeField(fields[4] ?? ""),
      fstype,
      options: (fields[5] ?? "").split(","),
    };
  });
}

/** What is mounted on a path, seen from above. */
export function findMounted(path: string, host: Host): MountedEntry | null {
  return listMounted(host).findLast((entry) => entry.path === path) ?? null;
}
