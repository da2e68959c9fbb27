/** What a process that dies now would leave of a folder: as it was written, and as much of it as is certain after a power loss. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";

/** Calls by which the agent changes its files. */
const calls = ["openSync", "writeSync", "fsyncSync", "renameSync", "rmSync", "ftruncateSync"] as const;

/** The files of a folder and of those below it, by their path in it. */
export type FolderContent = ReadonlyMap<string, Buffer>;

/** Watches how a folder is written until it is disposed of. */
export class WatchedDisk implements Disposable {
  readonly #folder: string;
  readonly #atWrite: (call: string) => void;
  readonly #restore: () => void;
  /** What was synced of each file, by its number on the disk. */
  readonly #synced = new Map<number, Buffer>();
  /** Files whose names were synced as well. */
  readonly #durable: Map<string, number>;
  #isLooking = false;

  /** @param atWrite - Called before and after each call that changes something, with its name. */
  constructor(folder: string, atWrite: (call: string) => void) {
    this.#folder = folder;
    this.#atWrite = atWrite;
    // What stands is certain.
    this.#durable = new Map(this.#files().map(({ path, ino }) => [path, ino]));
    for (const { ino, content } of this.#files()) this.#synced.set(ino, content);
    const originals = new Map(calls.map((call) => [call, fs[call]]));
    for (const call of calls) {
      const original = fs[call] as (...parameters: unknown[]) => unknown;
      const watched = (...parameters: unknown[]): unknown => {
        if (this.#isLooking) return original(...parameters);
        this.#tell(call);
        const value = original(...parameters);
        if (call === "fsyncSync") this.#look(() => this.#sync(Number(parameters[0])));
        this.#tell(call);
        return value;
      };
      Object.assign(fs, { [call]: watched });
    }
    syncBuiltinESMExports();
    this.#restore = () => {
      Object.assign(fs, Object.fromEntries(originals));
      syncBuiltinESMExports();
    };
  }

  /** As a process that is killed now leaves it. */
  written(): FolderContent {
    return this.#look(() => new Map(this.#files().map(({ path, content }) => [path, content])));
  }

  /** As a power loss leaves it, where the disk has done nothing but what it was told to. */
  certain(): FolderContent {
    return new Map([...this.#durable].map(([path, ino]) => [path, this.#synced.get(ino) ?? Buffer.alloc(0)]));
  }

  [Symbol.dispose](): void {
    this.#restore();
  }

  #tell(call: string): void {
    this.#look(() => this.#atWrite(call));
  }

  #look<T>(act: () => T): T {
    this.#isLooking = true;
    try {
      return act();
    } finally {
      this.#isLooking = false;
    }
  }

  #sync(descriptor: number): void {
    const stat = fs.fstatSync(descriptor);
    if (stat.isFile()) {
      this.#synced.set(stat.ino, fs.readFileSync(`/proc/self/fd/${descriptor}`));
      return;
    }
    const folder = fs.readlinkSync(`/proc/self/fd/${descriptor}`);
    if (!`${folder}/`.startsWith(`${this.#folder}/`)) return;
    const isIn = (path: string): boolean => join(this.#folder, path, "..") === folder;
    for (const path of [...this.#durable.keys()].filter(isIn)) this.#durable.delete(path);
    for (const { path, ino } of this.#files()) if (isIn(path)) this.#durable.set(path, ino);
  }

  #files(): { path: string; ino: number; content: Buffer }[] {
    return fs.readdirSync(this.#folder, { recursive: true, encoding: "utf8" }).flatMap((path) => {
      const full = join(this.#folder, path);
      const stat = fs.statSync(full);
      return stat.isFile() ? [{ path, ino: stat.ino, content: fs.readFileSync(full) }] : [];
    });
  }
}
