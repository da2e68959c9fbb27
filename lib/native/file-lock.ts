/**
 * A lock that a file stands for, held by one holder of all processes.
 *
 * On Linux the kernel keeps it (flock): it is free the moment its holder ends, however it ended, and a file that was left
 * behind blocks nobody. Where the kernel can't, the file itself is the lock, and one that names a process that is gone is
 * taken over; processes that can't see each other are not kept apart then.
 */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { pid as ownPid } from "node:process";
import { libc } from "./libc.ts";
import { beginOf, isAlive, parseHolder, type LockHolder } from "./lock-holder.ts";

/** A lock that is held. */
export interface FileLock {
  /** Whether its file is still where it was put: if not, another process may hold one of the same path. */
  isInPlace(): boolean;
  /** Gives the lock up and removes its file. */
  release(): void;
}

/** How a lock was asked for. */
export interface LockOptions {
  path: string;
  /** Writes who holds it: for people, and for versions and systems that know of no other lock. */
  toText: (holder: { pid: number; began: string; ticks: string; token: string; kernel: boolean }) => string;
  /** Told of a lock that was taken over from a process that is gone, with its number where the file says it. */
  onTakenOver?: (pid: number | undefined) => void;
}

/** What came of asking: the lock, or the process that has it, null where nobody can tell which. */
export type LockOutcome = { lock: FileLock } | { heldBy: number | null };

const { O_CREAT, O_RDWR } = fs.constants;
const ownerOnly = 0o600;
const attempts = 5;
const lockExclusive = 2;
const lockNoWait = 4;
const wouldBlock = 11;
/** Tokens of the locks that this process holds by their files alone: one with our own number and another is a predecessor's. */
const heldHere = new Set<string>();

type Flock = (fd: number, operation: number) => number;
let flock: Flock | null | undefined;

/**
 * Takes a lock, or says who has it. Throws the error of the system where the file can't be used.
 */
export function takeFileLock(options: LockOptions): LockOutcome {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const outcome = tryKernel(options) ?? tryFile(options);
    if (outcome !== "again") return outcome;
  }
  return { heldBy: null };
}

/** Null where the kernel keeps no locks on this file. */
function tryKernel(options: LockOptions): LockOutcome | "again" | null {
  flock ??= (libc()?.library.func("int flock(int fd, int operation)") as Flock | undefined) ?? null;
  if (flock === null) return null;
  const { path } = options;
  const fd = fs.openSync(path, O_RDWR | O_CREAT, ownerOnly);
  let isKept = false;
  try {
    if (flock(fd, lockExclusive | lockNoWait) !== 0)
      return libc()?.errno() === wouldBlock ? { heldBy: parseHolder(textIn(fd))?.pid ?? null } : null;
    const found = textIn(fd);
    const holder = parseHolder(found);
    if (!isAt(path, fd)) return "again";
    if (holder !== null && isHeldByFile(holder)) return { heldBy: holder.pid };
    if (found !== "") options.onTakenOver?.(holder?.pid);
    writeHolder(fd, options);
    isKept = true;
    return { lock: new KernelLock(path, fd) };
  } finally {
    if (!isKept) fs.closeSync(fd);
  }
}

/** The lock is the kernel's. Its file may say nothing, on a full disk. */
function writeHolder(fd: number, { toText }: LockOptions): void {
  try {
    fs.ftruncateSync(fd, 0);
    fs.writeSync(fd, toText(holderOf("", true)), 0);
  } catch {
    // Who is refused can't be told by whom, no more.
  }
}

class KernelLock implements FileLock {
  readonly #path: string;
  #fd: number | null;

  constructor(path: string, fd: number) {
    this.#path = path;
    this.#fd = fd;
  }

  isInPlace(): boolean {
    return this.#fd !== null && isAt(this.#path, this.#fd);
  }

  release(): void {
    const fd = this.#fd;
    if (fd === null) return;
    this.#fd = null;
    try {
      // While it is still held: who opened the file before looks again whether it is the one at the path.
      if (isAt(this.#path, fd)) fs.rmSync(this.#path, { force: true });
    } finally {
      fs.closeSync(fd);
    }
  }
}

function tryFile(options: LockOptions): LockOutcome | "again" {
  const { path, toText } = options;
  const token = randomUUID();
  const text = toText(holderOf(token, false));
  if (createWhole(path, text)) {
    heldHere.add(token);
    return { lock: new NamedLock(path, { text, token }) };
  }
  const found = readOrNull(path);
  if (found === null) return "again";
  const holder = parseHolder(found);
  if (holder !== null && isHeldByFile(holder)) return { heldBy: holder.pid };
  options.onTakenOver?.(holder?.pid);
  // Moved, not removed: between reading and here another process may have put its own lock in place.
  const aside = `${path}.${randomUUID()}`;
  try {
    fs.renameSync(path, aside);
  } catch {
    return "again";
  }
  const moved = readOrNull(aside) ?? "";
  if (moved !== found) createWhole(path, moved);
  fs.rmSync(aside, { force: true });
  return "again";
}

class NamedLock implements FileLock {
  readonly #path: string;
  readonly #mine: { text: string; token: string };

  constructor(path: string, mine: { text: string; token: string }) {
    this.#path = path;
    this.#mine = mine;
  }

  isInPlace(): boolean {
    return readOrNull(this.#path) === this.#mine.text;
  }

  release(): void {
    heldHere.delete(this.#mine.token);
    if (this.isInPlace()) fs.rmSync(this.#path, { force: true });
  }
}

/** Whether a process holds the lock by its file alone. One of the kernel's that we were given is nobody's any more. */
function isHeldByFile(holder: LockHolder): boolean {
  if (holder.isKernel && flock !== null) return false;
  if (holder.pid !== ownPid) return isAlive(holder);
  return heldHere.has(holder.token);
}

function holderOf(token: string, kernel: boolean): Parameters<LockOptions["toText"]>[0] {
  return { pid: ownPid, ...(beginOf(ownPid) ?? { began: "", ticks: "" }), token, kernel };
}

/** Nobody sees the file without its text. False where there is one. */
function createWhole(path: string, text: string): boolean {
  const draft = `${path}.${randomUUID()}`;
  try {
    fs.writeFileSync(draft, text, { mode: ownerOnly, flag: "wx" });
    fs.linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

function isAt(path: string, fd: number): boolean {
  const there = fs.statSync(path, { throwIfNoEntry: false });
  const open = fs.fstatSync(fd);
  return there !== undefined && there.dev === open.dev && there.ino === open.ino;
}

function textIn(fd: number): string {
  const bytes = Buffer.alloc(4_096);
  return bytes.toString("utf8", 0, fs.readSync(fd, bytes, 0, bytes.length, 0));
}

function readOrNull(path: string): string | null {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
