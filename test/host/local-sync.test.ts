import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PendingWrites } from "../../lib/host/local-sync.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "fleetwright-sync-"))));
afterEach(() => rmSync(folder, { recursive: true }));

test.each([3, 200])("%i files in two folders are flushed, one of the folders gone again", async (count) => {
  const pending = new PendingWrites();
  mkdirSync(join(folder, "gone"));
  for (let index = 0; index < count; index += 1) {
    const path = join(folder, index % 2 ? "gone" : ".", `${index}`);
    writeFileSync(path, "x");
    pending.addFile(path);
  }
  rmSync(join(folder, "gone"), { recursive: true });
  await expect(pending.flush()).resolves.toBeUndefined();
});

test.each([
  ["the system's own program syncs their file system", 200, "shown", 1, 0],
  ["the system's own program can't be told of it", 200, "/nowhere", 2, 200],
  ["they are few", 60, "shown", 1, 60],
] as const)(
  "what is held to be synced is let go again where %s",
  async (_why, count, shown, folders, files) => {
    const held: string[] = [];
    let open = 0;
    const pending = new PendingWrites((path) => {
      held.push(path);
      open += 1;
      return { real: path, shown: shown === "shown" ? path : shown, release: () => void (open -= 1) };
    });
    for (let index = 0; index < count; index += 1) {
      writeFileSync(join(folder, `${index}`), "x");
      pending.addFile(join(folder, `${index}`));
    }
    await pending.flush();
    expect(held.filter((path) => path === folder)).toHaveLength(folders);
    expect(held.filter((path) => path !== folder)).toHaveLength(files);
    expect(open).toBe(0);
    held.length = 0;
    await pending.flush();
    expect(held).toEqual([]);
  },
);

test("a path that can't be flushed is an error, and is tried again by the next flush", async () => {
  const pending = new PendingWrites();
  pending.addFile(join(folder, "x".repeat(300)));
  const tooLong = { code: "HOST_ERROR", details: { errno: "ENAMETOOLONG" } };
  await expect(pending.flush()).rejects.toMatchObject(tooLong);
  expect(pending.isEmpty).toBe(false);
  await expect(pending.flush()).rejects.toMatchObject({ code: "HOST_ERROR" });
});

test.each([2, 200])(
  "what became a link, or a file in place of its folder, holds up none of %i",
  async (count) => {
    const pending = new PendingWrites();
    for (let index = 0; index < count; index += 1) pending.addFile(join(folder, `${index}`));
    symlinkSync("0", join(folder, "0"));
    symlinkSync("/dev/null", join(folder, "1"));
    writeFileSync(join(folder, "file"), "x");
    symlinkSync("loop", join(folder, "loop"));
    for (const above of ["file", "loop"]) pending.addFile(join(folder, above, "below"));
    await expect(pending.flush()).resolves.toBeUndefined();
    expect(pending.isEmpty).toBe(true);
  },
);

test.each([1, 200])(
  "what became a pipe or a socket, which can't be opened, holds up none of %i",
  async (count) => {
    const pending = new PendingWrites();
    for (let index = 0; index < count; index += 1) {
      writeFileSync(join(folder, `${index}`), "x");
      pending.addFile(join(folder, `${index}`));
    }
    for (const name of ["pipe", "socket"]) pending.addFile(join(folder, name));
    execFileSync("mkfifo", [join(folder, "pipe")]);
    const server = createServer().listen(join(folder, "socket"));
    await once(server, "listening");
    await expect(pending.flush()).resolves.toBeUndefined();
    expect(pending.isEmpty).toBe(true);
    server.close();
    await once(server, "close");
  },
);
