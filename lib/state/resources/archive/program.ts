/** The programs that list and extract archives: tar and unzip, without a shell and without what an archive says of owners. */
import type { HostCommand } from "../../../host/host.ts";
import { act, ask, type Machine } from "../shared/command.ts";
import type { ArchiveLimit } from "./limit.ts";
import { type ListedEntry, readTarList, readZipList } from "./list.ts";

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
const lineFeed = 0x0a;

/** The format that a name tells; null where it tells none. */
export function formatOf(name: string): ArchiveFormat | null {
  const path = name.replace(/[?#].*$/, "").toLowerCase();
  if (/\.(?:tar\.gz|tgz)$/.test(path)) return "tar.gz";
  if (/\.(?:tar\.xz|txz)$/.test(path)) return "tar.xz";
  if (path.endsWith(".tar")) return "tar";
  return path.endsWith(".zip") ? "zip" : null;
}

/**
 * What an archive holds. `HOST_ERROR` where it is not safe to extract, `ARCHIVE_TOO_LARGE` where it is too large, `COMMAND_FAILED` where it
 * can't be read.
 */
export async function listArchive(
  file: ArchiveFile,
  limit: ArchiveLimit,
  machine: Machine,
): Promise<ListedEntry[]> {
  const list = [
    "--list",
    "--verbose",
    "--full-time",
    "--numeric-owner",
    "--quoting-style=escape",
    "--totals",
  ];
  const argv: HostCommand["argv"] =
    file.format === "zip" ? ["unzip", "-Z", "-s", archiveWord, "*"] : ["tar", ...list, ...tarOptions(file)];
  const opens = { [archiveWord]: file.path };
  const command = { ...inLocale(argv, file.format), opens, maxOutputBytes: maxListBytes };
  let lines = 0;
  const reading = watch(machine, (bytes) => {
    for (let at = bytes.indexOf(lineFeed); at !== -1; at = bytes.indexOf(lineFeed, at + 1)) lines += 1;
    limit.checkEntries(lines);
  });
  const { stdout, stderr } = await ask({ ...command, onOutput: reading.onOutput }, reading.machine);
  const entries = file.format === "zip" ? readZipList(stdout) : readTarList(stdout, file.strip);
  limit.checkBytes(entries.reduce((sum, { size }) => sum + size, 0));
  if (file.format === "zip") await measureZip(file, limit, machine);
  else limit.checkTarBytes(Number(/^Total bytes read: (\d+)/m.exec(stderr)?.[1] ?? Infinity), lines);
  return entries;
}

/** A zip archive may say of its files what it likes: they are unpacked once to nowhere, as far as the limit goes. */
async function measureZip(file: ArchiveFile, limit: ArchiveLimit, machine: Machine): Promise<void> {
  const opens = { [archiveWord]: file.path };
  let size = 0;
  const measuring = watch(machine, ({ length }) => limit.checkBytes((size += length)));
  const command = { ...inLocale(["unzip", "-p", archiveWord], file.format), opens, maxOutputBytes: 4_096 };
  await act({ ...command, asks: true, onOutput: measuring.onOutput }, measuring.machine);
}

/** For a program that is ended as soon as what it writes is refused. */
function watch(
  machine: Machine,
  check: (bytes: Uint8Array) => void,
): { machine: Machine; onOutput: NonNullable<HostCommand["onOutput"]> } {
  const refused = new AbortController();
  const signal = AbortSignal.any([machine.signal, refused.signal]);
  return {
    machine: { ...machine, signal, staysInRoot: true },
    onOutput(stream, bytes) {
      try {
        if (stream === "stdout") check(bytes);
      } catch (error) {
        refused.abort(error);
      }
    },
  };
}

/** Names keep what looks like a version, and control characters: without them it may be the name of something else. */
const asListed = ["-V", "-^"];

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
      ? ["unzip", "-q", "-o", ...asListed, archiveWord, "-d", intoWord]
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
