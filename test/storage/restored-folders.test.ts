/** What a restore has on disk when it says that it is done: a loss of power right after it must take nothing. */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { nodeDisk } from "../../lib/storage/file/disk.ts";
import { restoreMark } from "../../lib/storage/file/folder.ts";
import { restoreBackup } from "../../lib/storage/file/restore.ts";
import { backupOrigin, backupSigner } from "../support/backups.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test("each folder of a restore is synced after the last file in it came, and before the folder counts as whole", async () => {
  const storage = await openStorage({ folder: temporaryFolder() });
  await storage.commit(change("agent", 1));
  await storage.appendBlob("blob", Buffer.from("blob"));
  const calls: string[] = [];
  const watch = (name: "open" | "syncFolder" | "remove"): void => {
    const real = nodeDisk[name] as (path: string, ...more: never[]) => Promise<never>;
    const spy = vi.spyOn(nodeDisk, name).mockImplementation((path: string, ...more: unknown[]) => {
      calls.push(`${name} ${path}`);
      return real(path, ...(more as never[]));
    });
    onTestFinished(() => spy.mockRestore());
  };
  const folder = join(temporaryFolder(), "restored");
  const archive = storage.backup.archive(backupSigner);
  for (const name of ["open", "syncFolder", "remove"] as const) watch(name);
  await restoreBackup(archive, folder, backupOrigin);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "lock")
    .map((entry) => join(entry.parentPath, entry.name));
  expect(new Set(files.map((file) => dirname(file))).size).toBeGreaterThan(2);
  const isWhole = calls.indexOf(`remove ${join(folder, restoreMark)}`);
  for (const file of files) {
    const opened = calls.indexOf(`open ${file}`);
    expect(opened, file).toBeGreaterThanOrEqual(0);
    const synced = calls.indexOf(`syncFolder ${dirname(file)}`, opened);
    expect(synced, file).toBeGreaterThan(opened);
    expect(synced, file).toBeLessThan(isWhole);
  }
  expect(calls.indexOf(`syncFolder ${folder}`, isWhole)).toBeGreaterThan(isWhole);
});
