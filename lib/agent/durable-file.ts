/** Files that must survive kill -9 and a power loss. Synchronous: they are small, and nothing may happen in between. */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { OrchestratorError, isOrchestratorError } from "../errors.ts";
import { errnoWords, systemErrorName } from "../host/errno-words.ts";

/** Only the agent's own user may read what the agent keeps. */
const fileMode = 0o600;
const folderMode = 0o700;

/** Makes a folder that only the agent's user may enter, and those above it. Their names are durable when it returns. */
export function makeFolder(path: string): void {
  // One by one: Node's own recursion never ends where a folder can't be made, below /proc for one.
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) missing.push(at);
  for (const folder of missing.toReversed()) guarded(path, () => makeOne(folder));
  for (const made of missing) syncFolder(dirname(made));
}

/** Another agent that starts at once may have made it by now. */
function makeOne(folder: string): void {
  try {
    mkdirSync(folder, { mode: folderMode });
  } catch (error) {
    if (systemErrorName(error) !== "EEXIST" || !statSync(folder).isDirectory()) throw error;
  }
}

/** Reads a text; null where there is no file. */
export function readText(path: string): string | null {
  return guarded(path, () => {
    try {
      return readOwn(path);
    } catch (error) {
      if (systemErrorName(error) === "ENOENT") return null;
      throw error;
    }
  });
}

/** A pipe in the place of a file would be waited for for ever. */
function readOwn(path: string): string {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stat = fstatSync(file);
    // Reading a folder has an error of its own.
    if (!stat.isFile() && !stat.isDirectory())
      throw Object.assign(new Error("It is no regular file."), { code: "ERR_NO_REGULAR_FILE" });
    return readFileSync(file, "utf8");
  } finally {
    letGo(file);
  }
}

/** What a file is called while it is written. */
export const draftSuffix = ".new";

/**
 * Replaces a file in one step: afterwards it is the old or the new one, never a part. Durable when it returns.
 *
 * @throws {OrchestratorError} `STORAGE_FULL` without space; `STORAGE_FAILED` for anything else.
 */
export function replaceFile(path: string, text: string): void {
  const temporary = `${path}${draftSuffix}`;
  guarded(path, () => {
    // What a killed process left behind must not lend its mode to the new file.
    rmSync(temporary, { force: true });
    const file = openSync(temporary, "wx", fileMode);
    try {
      writeAll(file, text);
      fsyncSync(file);
    } finally {
      letGo(file);
    }
    renameSync(temporary, path);
  });
  syncFolder(dirname(path));
}

/** Writes a file of an earlier version in the form of this one. Where that can't be, it stays, and is read again next time. */
export function renewFile(path: string, text: string): void {
  try {
    replaceFile(path, text);
  } catch (error) {
    if (!isOrchestratorError(error)) throw error;
  }
}

/**
 * Keeps a second copy of a file, for the case that the disk damages the first. Not durable, and nothing depends on it:
 * where it can't be written the old one stays.
 */
export function writeCopy(path: string, text: string): void {
  const temporary = `${path}${draftSuffix}`;
  try {
    writeFileSync(temporary, text, { mode: fileMode });
    renameSync(temporary, path);
  } catch {
    // The disk is full or worse; what is kept in the file itself has told so, or will.
  }
}

/**
 * Makes a new file with this text, in one step: whoever finds it finds all of it. Durable when it returns. Refused with
 * `STORAGE_FAILED` where one stands.
 */
export function createFile(path: string, text: string): void {
  guarded(path, () => {
    if (existsSync(path)) throw Object.assign(new Error("There is such a file."), { code: "EEXIST" });
  });
  replaceFile(path, text);
}

/**
 * Adds a text to the end of a file that stands; with `durable`, it and all before it survive a power loss on return. Where
 * it throws, nothing was added: half a line would spoil the next one.
 */
export function appendFile(path: string, text: string, options: { durable: boolean }): void {
  guarded(path, () => {
    const file = openSync(path, "a", fileMode);
    try {
      const { size } = fstatSync(file);
      try {
        writeAll(file, text);
        if (options.durable) fsyncSync(file);
      } catch (error) {
        takeBack(file, size);
        throw error;
      }
    } finally {
      letGo(file);
    }
  });
}

/** What was synced is on the disk, whatever comes of the close; of the rest no more is promised than that this process wrote it. */
function letGo(file: number): void {
  try {
    closeSync(file);
  } catch {
    // The descriptor is free all the same (close(2)).
  }
}

function takeBack(file: number, size: number): void {
  try {
    ftruncateSync(file, size);
  } catch {
    // The disk refuses this too; why it refused the writing is the better thing to tell.
  }
}

/** Removes a file; nothing happens where there is none. */
export function removeFile(path: string): void {
  guarded(path, () => rmSync(path, { force: true }));
}

function syncFolder(path: string): void {
  guarded(path, () => {
    const folder = openSync(path, "r");
    try {
      fsyncSync(folder);
    } finally {
      letGo(folder);
    }
  });
}

/** A write may take less than it was given, without space left for the rest. */
function writeAll(file: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
}

/** Acts on a file; what the system refuses becomes `STORAGE_FULL` or `STORAGE_FAILED`, with the file. */
export function guarded<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    const errno = systemErrorName(error) ?? "unknown";
    const full = errno === "ENOSPC" || errno === "EDQUOT";
    throw new OrchestratorError(full ? "STORAGE_FULL" : "STORAGE_FAILED", {
      message: `The agent can't use its file ${path}: ${errnoWords(errno, error)}.`,
      details: { path, errno },
      cause: error,
    });
  }
}
