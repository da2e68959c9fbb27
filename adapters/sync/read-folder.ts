/** Reads the files of a fleet folder from the disk, within bounds, and nothing that lies outside of it. */
import { constants, type Dirent } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { FolderFault, FolderFile } from "fleetwright";
import { codeOf } from "../client/system-error.ts";

/** The folder itself can't be read or written. */
export class FolderError extends Error {}

/** What a folder may have; past it, reading ends with a fault. */
export const folderLimits = {
  /** Files and folders of every kind. */
  entries: 20_000,
  /** Files in YAML. */
  files: 5_000,
  /** Bytes of one file. */
  fileBytes: 512 * 1024,
  /** Bytes of all files. */
  bytes: 64 * 1024 * 1024,
  /** Folders within each other. */
  depth: 8,
} as const;

/** What was read. */
export interface ReadFolder {
  files: FolderFile[];
  faults: FolderFault[];
}

/**
 * Reads every file of a folder that ends with `.yaml` or `.yml`, in whatever case. What begins with a dot, and what ends otherwise, is passed over; a link
 * is a fault, wherever it leads.
 *
 * @throws {FolderError} Where the folder itself can't be read.
 */
export async function readFolder(folder: string): Promise<ReadFolder> {
  const reader = new Reader(folder);
  await reader.readBelow("", 0);
  return { files: reader.files, faults: reader.faults };
}

class Reader {
  readonly files: FolderFile[] = [];
  readonly faults: FolderFault[] = [];
  readonly #folder: string;
  /** What is read of a file, until the next one is. */
  readonly #buffer = Buffer.allocUnsafe(folderLimits.fileBytes + 1);
  #entries = 0;
  #bytes = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async readBelow(below: string, depth: number): Promise<void> {
    if (depth > folderLimits.depth)
      return this.#fault(below, `Folders are nested deeper than ${folderLimits.depth}.`);
    for (const entry of await this.#list(below)) {
      this.#entries += 1;
      const path = below === "" ? entry.name : `${below}/${entry.name}`;
      if (this.#isFull()) return this.#fault(path, "The folder has too much from here on.");
      if (entry.name.startsWith(".")) continue;
      await this.#take(entry, { path, depth });
    }
  }

  async #take(entry: Dirent, { path, depth }: { path: string; depth: number }): Promise<void> {
    const isYaml = /\.ya?ml$/i.test(entry.name);
    if (entry.isDirectory()) return this.readBelow(path, depth + 1);
    // A link to a folder has no ending.
    if (entry.isSymbolicLink())
      return this.#fault(path, "Links are not followed: have the file itself in the folder.");
    if (!isYaml) return;
    if (!entry.isFile()) return this.#fault(path, "This is no file.");
    await this.#readFile(path);
  }

  async #list(below: string): Promise<Dirent[]> {
    try {
      const entries = await readdir(join(this.#folder, below), { withFileTypes: true });
      return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    } catch (error) {
      if (below === "") throw new FolderError(`${this.#folder} ${whyUnread(codeOf(error))}`);
      this.#fault(below, `The folder can't be read (${codeOf(error)}).`);
      return [];
    }
  }

  async #readFile(path: string): Promise<void> {
    try {
      const bytes = await readBounded(join(this.#folder, path), this.#buffer);
      if (bytes === null)
        return this.#fault(path, `The file is larger than ${folderLimits.fileBytes / 1024} KiB.`);
      this.#bytes += bytes.length;
      this.files.push({ path, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) });
    } catch (error) {
      const isText = !(error instanceof TypeError);
      this.#fault(path, isText ? `The file can't be read (${codeOf(error)}).` : "The file is no UTF-8 text.");
    }
  }

  #isFull(): boolean {
    return (
      this.#entries > folderLimits.entries ||
      this.files.length >= folderLimits.files ||
      this.#bytes > folderLimits.bytes
    );
  }

  #fault(file: string, message: string): void {
    this.faults.push({ file, code: "VALIDATION_FAILED", path: [], message, line: 1, column: 1 });
  }
}

/** The part of the buffer that holds the file; null where it is larger than one may be, as it is found to be or as it grows meanwhile. */
async function readBounded(path: string, buffer: Buffer): Promise<Buffer | null> {
  // Neither a link that came meanwhile is followed, nor is a pipe waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) return buffer.subarray(0, length);
      length += bytesRead;
    }
    return null;
  } finally {
    await file.close();
  }
}

function whyUnread(code: string): string {
  if (code === "ENOENT") return "is not there.";
  return code === "ENOTDIR" ? "is no folder." : `can't be read (${code}).`;
}
