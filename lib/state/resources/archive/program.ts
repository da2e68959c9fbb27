/** The programs that list and extract archives: tar and unzip, without a shell and without what an archive says of owners. */
import type { HostCommand } from "../../../host/host.ts";
import { type ListedEntry, readTarList, readZipList } from "./list.ts";
import { act, ask, type Machine } from "../shared/command.ts";

/** An archive and how it is to be read. */
export interface ArchiveFile {
  path: string;
  format: ArchiveFormat;
  strip: number;
}

export type ArchiveFormat = "tar" | "tar.gz" | "tar.xz" | "zip";

/** Stand for the archive and the folder in the arguments. */
const archiveWord = "%archive";
const intoWord = "%into";

const maxListBytes = 32 * 1024 * 1024;

/** The format that a name tells; null where it tells none. */
export function formatOf(name: string): ArchiveFormat | null {
  const path = name.replace(/[?#].*$/, "").toLowerCase();
  if (/\.(?:tar\.gz|tgz)$/.test(path)) return "tar.gz";
  if (/\.(?:tar\.xz|txz)$/.test(path)) return "tar.xz";
  if (path.endsWith(".tar")) return "tar";
  return path.endsWith(".zip") ? "zip" : null;
}

/** What an archive holds. `HOST_ERROR` where it is not safe to extract, `COMMAND_FAILED` where it can't be read. */
export async function listArchive(file: ArchiveFile, machine: Machine): Promise<ListedEntry[]> {
  const list = ["--list", "--verbose", "--full-time", "--numeric-owner", "--quoting-style=escape"];
  const argv: HostCommand["argv"] =
    file.format === "zip" ? ["unzip", "-Z", "-s", archiveWord, "*"] : ["tar", ...list, ...tarOptions(file)];
  const opens = { [archiveWord]: file.path };
  const command = { ...inLocale(argv, file.format), opens, maxOutputBytes: maxListBytes };
  const { stdout } = await ask(command, { ...machine, staysInRoot: true });
  return file.format === "zip" ? readZipList(stdout) : readTarList(stdout, file.strip);
}

/** Extracts everything into a folder, over what stands there. */
export async function extractArchive(file: ArchiveFile, folder: string, machine: Machine): Promise<void> {
  const extract = [
    "--extract",
    "--no-same-owner",
    "--no-same-permissions",
    // A folder that stands already is somebody else's: its mode stays.
    "--no-overwrite-dir",
    `--strip-components=${file.strip}`,
  ];
  const argv: HostCommand["argv"] =
    file.format === "zip"
      ? ["unzip", "-q", "-o", archiveWord, "-d", intoWord]
      : ["tar", ...extract, ...tarOptions(file), `--directory=${intoWord}`];
  const opens = { [archiveWord]: file.path, [intoWord]: folder };
  await act({ ...inLocale(argv, file.format), opens, onOutput: () => {} }, { ...machine, staysInRoot: true });
}

const decompress = { tar: [], "tar.gz": ["--gzip"], "tar.xz": ["--xz"] } as const;

/** A colon in a name is no machine to fetch the archive from. */
function tarOptions({ format }: ArchiveFile): string[] {
  const options = format === "zip" ? [] : decompress[format];
  return ["--force-local", ...options, `--file=${archiveWord}`];
}

/** Tar escapes what is not ASCII, unzip would lose it. */
function inLocale(argv: HostCommand["argv"], format: ArchiveFormat): HostCommand {
  return { argv, environment: { LC_ALL: format === "zip" ? "C.UTF-8" : "C" } };
}
