import { dirname } from "node:path";
import type { LockOutcome } from "../../lib/native/file-lock.ts";
import type { Disk, DiskFile, FileIdentity, OpenMode } from "../../lib/storage/file/disk.ts";

const sectorBytes = 512;

/** A change to a file. A write that was synced by itself is certain, which says nothing of those before it. */
type Change = { at: number; bytes: Buffer; certain: boolean } | { size: number; certain: false };

interface Inode {
  /** What a process reads. */
  content: Buffer;
  durable: Buffer;
  /** Changes since then, in order. */
  pending: Change[];
}

/** A change of names in one folder that is not synced yet: a rename is one change of two names. */
type PendingNames = [path: string, inode: Inode | null][];

/** What is shared by all lives of a disk. */
interface Platter {
  names: Map<string, Inode>;
  durableNames: Map<string, Inode>;
  pendingNames: PendingNames[];
}

/** What goes wrong while the disk is used. */
export interface Trouble {
  /** Share of the writes, 0 to 1, that find no space after some of their bytes, or after all of them. */
  full?: number;
  /** The sync after so many fails once; what was to be synced may be written or not, and counts as clean afterwards. */
  brokenSync?: number;
  /** The process dies so many changes after either. Default: it goes on. */
  diesAfter?: number;
}

/**
 * A file system in memory under a process that dies: after a given number of changes nothing answers any more.
 *
 * {@link afterKill} gives the disk as the next process finds it: everything that was written can be read, synced or not.
 * {@link afterPowerLoss} gives what a real disk might hold: what was synced is there; of the rest each sector of each
 * write may be there or not, and so may each change of a name, a rename as a whole. A write to a file opened "durable"
 * makes its own bytes durable, not those that a process before it left unsynced.
 */
export class VolatileDisk implements Disk {
  /** Resolves when the process is dead. */
  readonly lost: Promise<void>;
  trouble: Trouble = {};
  readonly #random: () => number;
  readonly #platter: Platter;
  #changesLeft: number;
  #lose: () => void = () => {};
  readonly #inodes: Inode[] = [];

  /** @param changes - The end comes at the change after so many. */
  constructor(random: () => number, changes: number, platter?: Platter) {
    this.#random = random;
    this.#changesLeft = changes;
    this.#platter = platter ?? { names: new Map(), durableNames: new Map(), pendingNames: [] };
    this.lost = new Promise((resolve) => (this.#lose = resolve));
  }

  /** The disk for the process after the one that died, which dies after some changes. */
  afterKill(changes: number): VolatileDisk {
    this.#end();
    return new VolatileDisk(this.#random, changes, this.#platter);
  }

  /** The disk after the power came back. */
  afterPowerLoss(changes: number): VolatileDisk {
    this.#end();
    const { durableNames, pendingNames } = this.#platter;
    for (const names of pendingNames) if (this.#random() < 0.6) setNames(durableNames, names);
    const names = new Map<string, Inode>();
    for (const [path, inode] of durableNames) {
      const content = this.#remainsOf(inode);
      names.set(path, { content, durable: content, pending: [] });
    }
    return new VolatileDisk(this.#random, changes, {
      names,
      durableNames: new Map(names),
      pendingNames: [],
    });
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    let inode = this.#platter.names.get(path);
    if (inode === undefined) {
      if (mode === "read" || mode === "update") throw systemError("ENOENT");
      inode = { content: Buffer.alloc(0), durable: Buffer.alloc(0), pending: [] };
      await this.#changeNames([[path, inode]]);
    } else if (mode === "replace") await this.#change(inode, { size: 0, certain: false });
    return this.#fileOf(inode, mode);
  }

  async readWhole(path: string): Promise<Buffer | null> {
    const inode = this.#platter.names.get(path);
    return inode === undefined ? null : Buffer.from(inode.content);
  }

  async createExclusive(path: string, text: string): Promise<boolean> {
    if (this.#platter.names.has(path)) return false;
    const content = Buffer.from(text);
    await this.#changeNames([[path, { content, durable: content, pending: [] }]]);
    return true;
  }

  async list(folder: string): Promise<string[]> {
    return [...this.#platter.names.keys()]
      .filter((path) => dirname(path) === folder)
      .map((path) => path.slice(folder.length + 1));
  }

  async makeFolder(): Promise<void> {}

  async rename(from: string, to: string): Promise<void> {
    const inode = this.#platter.names.get(from);
    if (inode === undefined) throw systemError("ENOENT");
    await this.#changeNames([
      [to, inode],
      [from, null],
    ]);
  }

  async remove(path: string): Promise<void> {
    if (this.#platter.names.has(path)) await this.#changeNames([[path, null]]);
  }

  async syncFolder(folder: string): Promise<void> {
    await this.#countChange();
    const platter = this.#platter;
    const isHere = (names: PendingNames): boolean => names.every(([path]) => dirname(path) === folder);
    for (const names of platter.pendingNames.filter(isHere)) setNames(platter.durableNames, names);
    platter.pendingNames = platter.pendingNames.filter((names) => !isHere(names));
  }

  /** The number of a file is its place among those that were asked for. */
  identityOf(path: string): FileIdentity | null {
    const inode = this.#platter.names.get(path);
    if (inode === undefined) return this.#isFolder(path) ? { dev: 1, ino: 0 } : null;
    const known = this.#inodes.indexOf(inode);
    return { dev: 1, ino: known >= 0 ? known + 1 : this.#inodes.push(inode) };
  }

  /** Each life of the disk has one process, which locks once; with it the lock is gone. */
  lock(): LockOutcome {
    return { lock: { isInPlace: () => true, release() {} } };
  }

  spaceLeft(): Promise<number> {
    return Promise.resolve(Infinity);
  }

  /** Nothing happens by itself: a life is as long as its changes. */
  repeat(): () => void {
    return () => {};
  }

  #isFolder(path: string): boolean {
    return [...this.#platter.names.keys()].some((name) => name.startsWith(`${path}/`));
  }

  #fileOf(inode: Inode, mode: OpenMode): DiskFile {
    return {
      read: async (position, length) => Buffer.from(inode.content.subarray(position, position + length)),
      write: async (bytes, at) => {
        const isFull = this.#random() < (this.trouble.full ?? 0);
        const taken = isFull ? Math.floor(this.#random() * 1.3 * bytes.length) : bytes.length;
        const change: Change = { at, bytes: Buffer.from(bytes.subarray(0, taken)), certain: false };
        await this.#change(inode, change);
        if (isFull) throw this.#failure("ENOSPC");
        if (mode !== "durable") return;
        await this.#countSync(inode);
        change.certain = true;
      },
      sync: async () => {
        await this.#countSync(inode);
        inode.durable = inode.pending.reduce(changed, inode.durable);
        inode.pending = [];
      },
      truncate: (size) => this.#change(inode, { size, certain: false }),
      size: async () => inode.content.length,
      close: async () => {},
    };
  }

  async #change(inode: Inode, change: Change): Promise<void> {
    await this.#countChange();
    inode.pending.push(change);
    inode.content = changed(inode.content, change);
  }

  async #changeNames(names: PendingNames): Promise<void> {
    await this.#countChange();
    this.#platter.pendingNames.push(names);
    setNames(this.#platter.names, names);
  }

  async #countSync(inode: Inode): Promise<void> {
    await this.#countChange();
    if (this.trouble.brokenSync === undefined || this.trouble.brokenSync-- !== 0) return;
    inode.durable = this.#remainsOf(inode);
    inode.pending = [];
    throw this.#failure("EIO");
  }

  #failure(code: string): Error {
    this.#changesLeft = Math.min(this.#changesLeft, this.trouble.diesAfter ?? Infinity);
    return systemError(code);
  }

  /** A process that had come to an end of its work may still be writing in the background: no more of it arrives. */
  #end(): void {
    this.#changesLeft = 0;
  }

  /** Takes a turn of the event loop, as a real disk does. Never resolves once the process is dead. */
  async #countChange(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#changesLeft-- > 0) return;
    this.#lose();
    await new Promise(() => {});
  }

  #remainsOf({ durable, pending }: Inode): Buffer {
    let content = durable;
    for (const change of pending) {
      if ("size" in change || change.certain) {
        if (change.certain || this.#random() < 0.5) content = changed(content, change);
        continue;
      }
      const { at, bytes } = change;
      for (let start = 0; start < bytes.length;) {
        const end = Math.min(bytes.length, start + sectorBytes - ((at + start) % sectorBytes));
        const sector: Change = { at: at + start, bytes: bytes.subarray(start, end), certain: false };
        if (this.#random() < 0.6) content = changed(content, sector);
        start = end;
      }
    }
    return content;
  }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: injected by the test`), { code });
}

function setNames(known: Map<string, Inode>, names: PendingNames): void {
  for (const [path, inode] of names) {
    if (inode === null) known.delete(path);
    else known.set(path, inode);
  }
}

/** The content after a change; never the same buffer, so that an older one may be kept. */
function changed(content: Buffer, change: Change): Buffer {
  const size = "size" in change ? change.size : Math.max(content.length, change.at + change.bytes.length);
  const next = Buffer.alloc(size);
  content.copy(next, 0, 0, Math.min(size, content.length));
  if ("bytes" in change) change.bytes.copy(next, change.at);
  return next;
}
