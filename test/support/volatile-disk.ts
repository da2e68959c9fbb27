import { dirname } from "node:path";
import type { Disk, DiskFile, OpenMode } from "../../lib/storage/file/disk.ts";

const sectorBytes = 512;

/** A change to a file that is not synced yet. */
type PendingChange = { at: number; bytes: Buffer } | { size: number };

interface Inode {
  content: Buffer;
  durable: Buffer;
  pending: PendingChange[];
}

/** A change of names in one folder that is not synced yet: a rename is one change of two names. */
type PendingNames = [path: string, inode: Inode | null][];

/**
 * A file system in memory that loses power: after a given number of changes nothing answers any more, and
 * {@link afterPowerLoss} gives what a real disk might hold then. What was synced is there; of the rest each sector of each
 * write may be there or not, and so may each change of a name, a rename as a whole.
 */
export class VolatileDisk implements Disk {
  /** Resolves when the power is gone. */
  readonly lost: Promise<void>;
  readonly #random: () => number;
  readonly #names = new Map<string, Inode>();
  readonly #durableNames = new Map<string, Inode>();
  #pendingNames: PendingNames[] = [];
  #changesLeft: number;
  #lose: () => void = () => {};

  /** @param changes - Power is lost at the change after so many. */
  constructor(random: () => number, changes: number) {
    this.#random = random;
    this.#changesLeft = changes;
    this.lost = new Promise((resolve) => (this.#lose = resolve));
  }

  /** The disk after the power came back, with the next power loss after some changes. */
  afterPowerLoss(changes: number): VolatileDisk {
    const next = new VolatileDisk(this.#random, changes);
    for (const names of this.#pendingNames) {
      if (this.#random() < 0.6) setNames(this.#durableNames, names);
    }
    for (const [path, inode] of this.#durableNames) {
      // No process survives a power loss, so that its lock means nothing.
      if (path.endsWith("/lock")) continue;
      const content = this.#remainsOf(inode);
      const survivor = { content, durable: Buffer.from(content), pending: [] };
      next.#names.set(path, survivor);
      next.#durableNames.set(path, survivor);
    }
    return next;
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    let inode = this.#names.get(path);
    if (inode === undefined) {
      if (mode === "read" || mode === "update")
        throw Object.assign(new Error(`ENOENT: ${path}`), { code: "ENOENT" });
      inode = { content: Buffer.alloc(0), durable: Buffer.alloc(0), pending: [] };
      await this.#changeNames([[path, inode]]);
    } else if (mode === "replace") await this.#change(inode, { size: 0 });
    return this.#fileOf(inode, mode);
  }

  async readWhole(path: string): Promise<Buffer | null> {
    const inode = this.#names.get(path);
    return inode === undefined ? null : Buffer.from(inode.content);
  }

  async createExclusive(path: string, text: string): Promise<boolean> {
    if (this.#names.has(path)) return false;
    const content = Buffer.from(text);
    await this.#changeNames([[path, { content, durable: content, pending: [] }]]);
    return true;
  }

  async list(folder: string): Promise<string[]> {
    return [...this.#names.keys()]
      .filter((path) => dirname(path) === folder)
      .map((path) => path.slice(folder.length + 1));
  }

  async makeFolder(): Promise<void> {}

  async rename(from: string, to: string): Promise<void> {
    const inode = this.#names.get(from);
    if (inode === undefined) throw Object.assign(new Error(`ENOENT: ${from}`), { code: "ENOENT" });
    await this.#changeNames([
      [to, inode],
      [from, null],
    ]);
  }

  async remove(path: string): Promise<void> {
    if (this.#names.has(path)) await this.#changeNames([[path, null]]);
  }

  async syncFolder(folder: string): Promise<void> {
    await this.#countChange();
    const isHere = (names: PendingNames): boolean => names.every(([path]) => dirname(path) === folder);
    for (const names of this.#pendingNames.filter(isHere)) setNames(this.#durableNames, names);
    this.#pendingNames = this.#pendingNames.filter((names) => !isHere(names));
  }

  #fileOf(inode: Inode, mode: OpenMode): DiskFile {
    const sync = async (): Promise<void> => {
      await this.#countChange();
      inode.durable = Buffer.from(inode.content);
      inode.pending = [];
    };
    return {
      read: async (position, length) => Buffer.from(inode.content.subarray(position, position + length)),
      write: async (bytes, at) => {
        await this.#change(inode, { at, bytes: Buffer.from(bytes) });
        if (mode === "durable") await sync();
      },
      sync,
      truncate: (size) => this.#change(inode, { size }),
      size: async () => inode.content.length,
      close: async () => {},
    };
  }

  async #change(inode: Inode, change: PendingChange): Promise<void> {
    await this.#countChange();
    inode.pending.push(change);
    inode.content = changed(inode.content, change);
  }

  async #changeNames(names: PendingNames): Promise<void> {
    await this.#countChange();
    this.#pendingNames.push(names);
    setNames(this.#names, names);
  }

  /** Takes a turn of the event loop, as a real disk does. Never resolves once the power is gone. */
  async #countChange(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.#changesLeft-- > 0) return;
    this.#lose();
    await new Promise(() => {});
  }

  #remainsOf({ durable, pending }: Inode): Buffer {
    let content = Buffer.from(durable);
    for (const change of pending) {
      if ("size" in change) {
        if (this.#random() < 0.5) content = changed(content, change);
        continue;
      }
      const { at, bytes } = change;
      for (let start = 0; start < bytes.length;) {
        const end = Math.min(bytes.length, start + sectorBytes - ((at + start) % sectorBytes));
        const sector = { at: at + start, bytes: bytes.subarray(start, end) };
        if (this.#random() < 0.6) content = changed(content, sector);
        start = end;
      }
    }
    return content;
  }
}

function setNames(known: Map<string, Inode>, names: PendingNames): void {
  for (const [path, inode] of names) {
    if (inode === null) known.delete(path);
    else known.set(path, inode);
  }
}

function changed(content: Buffer, change: PendingChange): Buffer<ArrayBuffer> {
  const size = "size" in change ? change.size : Math.max(content.length, change.at + change.bytes.length);
  const next = Buffer.alloc(size);
  content.copy(next, 0, 0, Math.min(size, content.length));
  if ("bytes" in change) change.bytes.copy(next, change.at);
  return next;
}
