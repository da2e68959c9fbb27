import { join } from "node:path";
import { expect, it } from "vitest";
import { BlobFiles } from "../../../lib/storage/file/blobs.ts";
import { type Disk, nodeDisk } from "../../../lib/storage/file/disk.ts";
import { deferred } from "../../support/deferred.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("a writer that can't be opened leaves no file open, and no blob behind", async () => {
  let open = 0;
  const failing: Disk = {
    ...nodeDisk,
    async open(path, mode) {
      const file = await nodeDisk.open(path, mode);
      open += 1;
      return {
        read: (position, length) => file.read(position, length),
        write: (bytes, position) =>
          mode === "note"
            ? Promise.reject(Object.assign(new Error("EIO"), { code: "EIO" }))
            : file.write(bytes, position),
        sync: () => file.sync(),
        truncate: (size) => file.truncate(size),
        size: () => file.size(),
        close() {
          open -= 1;
          return file.close();
        },
      };
    },
  };
  const folder = join(temporaryFolder(), "blobs");
  const blobs = new BlobFiles(failing, folder);
  await blobs.open();
  await blobs.append("old", Buffer.from("kept"), undefined);
  for (const id of ["one", "old"])
    await expect(blobs.openWriter(id)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  expect(open).toBe(0);
  expect(await blobs.read("one", {})).toBeNull();
  expect(await blobs.read("old", {})).toEqual(new Uint8Array(Buffer.from("kept")));
  expect((await nodeDisk.list(folder)).filter((name) => name.includes("one"))).toEqual([]);
});

const noSpace = (): Promise<never> => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));

/**
 * A disk of Linux that may be full, and what a loss of power would leave of the files of writers: a sync that fails leaves what it was for in
 * the cache, where it counts as clean from then on (fsync(2), "errors of writeback").
 */
class Cached {
  isFull = false;
  /** Called before a sync begins. */
  beforeSync: () => Promise<unknown> = async () => {};
  /** Called while bytes are taken back. */
  beforeCut: () => Promise<unknown> = async () => {};
  /** What is on the disk. */
  left = Buffer.alloc(0);
  #dirty: [position: number, bytes: Buffer][] = [];
  #size = 0;

  readonly disk: Disk = {
    ...nodeDisk,
    open: async (path, mode) => {
      const file = await nodeDisk.open(path, mode);
      if (mode !== "stream") return file;
      const write = async (bytes: Uint8Array, position: number): Promise<void> => {
        await file.write(bytes, position);
        this.#dirty.push([position, Buffer.from(bytes)]);
        this.#size = Math.max(this.#size, position + bytes.length);
      };
      return {
        read: (position, length) => file.read(position, length),
        write: async (bytes, position) => {
          if (!this.isFull) return write(bytes, position);
          await write(bytes.subarray(0, 1), position);
          return noSpace();
        },
        sync: async () => {
          await this.beforeSync();
          const written = this.#dirty.splice(0);
          if (this.isFull) return noSpace();
          this.left = Buffer.concat([this.left, Buffer.alloc(this.#size)]).subarray(0, this.#size);
          for (const [position, bytes] of written) bytes.copy(this.left, position);
          return file.sync();
        },
        truncate: async (size) => {
          await this.beforeCut();
          this.#size = size;
          return file.truncate(size);
        },
        size: () => file.size(),
        close: () => file.close(),
      };
    },
  };
}

async function openOn({ disk }: Cached) {
  const blobs = new BlobFiles(disk, join(temporaryFolder(), "blobs"));
  await blobs.open();
  return blobs.openWriter("one");
}

const full = expect.objectContaining({ code: "STORAGE_FULL" }) as Error;

it("bytes that were taken back for want of space are off the disk before a writer is closed, also where a sync finds none", async () => {
  const cached = new Cached();
  const writer = await openOn(cached);
  await writer.append(Buffer.from("kept"));
  await writer.sync();
  cached.isFull = true;
  await expect(writer.append(Buffer.from("lost"))).rejects.toEqual(full);
  await expect(writer.sync()).rejects.toEqual(full);
  cached.isFull = false;
  await writer.close();
  expect(cached.left.toString()).toBe("kept");
});

it("bytes that a sync brings to the disk while they are taken back are off it, too", async () => {
  const cached = new Cached();
  const writer = await openOn(cached);
  await writer.append(Buffer.from("kept"));
  const isCutting = deferred();
  cached.beforeSync = () => isCutting.promise;
  const first = writer.sync();
  await writer.append(Buffer.from(", too"));
  // It waits for the first, and for nothing that is appended after it.
  const second = writer.sync();
  cached.beforeCut = async () => {
    cached.isFull = false;
    isCutting.resolve();
    await Promise.all([first, second]);
  };
  cached.isFull = true;
  await expect(writer.append(Buffer.from("lost"))).rejects.toEqual(full);
  await writer.close();
  expect(cached.left.toString()).toBe("kept, too");
});

it("what a sync found no space for is on the disk once one finds it, though it counts as clean", async () => {
  const cached = new Cached();
  const writer = await openOn(cached);
  await writer.append(Buffer.from("first, "));
  await writer.sync();
  await writer.append(Buffer.from("second, "));
  cached.isFull = true;
  for (let tries = 0; tries < 2; tries += 1) await expect(writer.sync()).rejects.toEqual(full);
  cached.isFull = false;
  await writer.append(Buffer.from("third"));
  await writer.sync();
  expect(cached.left.toString()).toBe("first, second, third");
  await writer.close();
});
