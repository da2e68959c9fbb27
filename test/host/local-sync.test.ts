import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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

test("a path that can't be flushed is an error, and is tried again by the next flush", async () => {
  const pending = new PendingWrites();
  writeFileSync(join(folder, "file"), "x");
  // Below a file there is no folder: the system answers ENOTDIR.
  pending.addFile(join(folder, "file/below"));
  await expect(pending.flush()).rejects.toMatchObject({ code: "HOST_ERROR", details: { errno: "ENOTDIR" } });
  await expect(pending.flush()).rejects.toMatchObject({ code: "HOST_ERROR" });
});
