/** The machine's file system with one call that fails, and with an account of the files that are open. */
import { nodeDisk, type Disk, type DiskFile, type OpenMode } from "../../lib/storage/file/disk.ts";

/** How a call fails: as a system does that has no space, no descriptor left or a broken disk. */
export type DiskFailure = "ENOSPC" | "EMFILE" | "EIO";

/** What a failing disk can count. The lock and what asks without waiting are left out: they fail in tests of their own. */
const folderCalls = [
  "readWhole",
  "createExclusive",
  "list",
  "makeFolder",
  "rename",
  "remove",
  "syncFolder",
] as const;

/** Calls that need a descriptor. */
const opening: ReadonlySet<string> = new Set(["open", "readWhole", "createExclusive", "list", "syncFolder"]);

export class FailingDisk implements Disk {
  /** What was called that may fail so, in order, as "write journal-00000001.jsonl". */
  readonly made: string[] = [];
  /** Paths of the files that are open. */
  readonly openFiles: string[] = [];
  readonly #failing: number;
  readonly failure: DiskFailure;

  /** @param failing - Which call fails, from 0, before it has done anything; that of a close after it. Infinity for none. */
  constructor(failing: number, failure: DiskFailure) {
    this.#failing = failing;
    this.failure = failure;
    for (const name of folderCalls) {
      const call = nodeDisk[name] as (...args: unknown[]) => Promise<unknown>;
      Object.assign(this, {
        [name]: async (...args: unknown[]) => {
          this.#count(name, String(args[0]));
          return call(...args);
        },
      });
    }
  }

  /** The call that was to fail; null where so many were not made. */
  get failed(): string | null {
    return this.made[this.#failing] ?? null;
  }

  declare readWhole: Disk["readWhole"];
  declare createExclusive: Disk["createExclusive"];
  declare list: Disk["list"];
  declare makeFolder: Disk["makeFolder"];
  declare rename: Disk["rename"];
  declare remove: Disk["remove"];
  declare syncFolder: Disk["syncFolder"];
  identityOf = nodeDisk.identityOf;
  spaceLeft = nodeDisk.spaceLeft;
  repeat = nodeDisk.repeat;
  lock = nodeDisk.lock;

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    this.#count("open", path);
    const file = await nodeDisk.open(path, mode);
    this.openFiles.push(path);
    let isOpen = true;
    const counted =
      <Args extends unknown[], Result>(name: string, call: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        this.#count(name, path);
        return call(...args);
      };
    return {
      read: counted("read", (position: number, length: number) => file.read(position, length)),
      write: counted("write", (bytes: Uint8Array, position: number) => file.write(bytes, position)),
      sync: counted("sync", () => file.sync()),
      truncate: counted("truncate", (size: number) => file.truncate(size)),
      size: counted("size", () => file.size()),
      close: async () => {
        await file.close();
        if (isOpen) this.openFiles.splice(this.openFiles.indexOf(path), 1);
        isOpen = false;
        this.#count("close", path);
      },
    };
  }

  #count(name: string, path: string): void {
    if (this.failure === "EMFILE" && !opening.has(name)) return;
    const isIt = this.made.length === this.#failing;
    this.made.push(`${name} ${path}`);
    if (isIt) {
      const message = `${this.failure}: injected by the test, ${name} '${path}'`;
      throw Object.assign(new Error(message), { code: this.failure });
    }
  }
}
