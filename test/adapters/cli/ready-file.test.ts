/** The file that `serve --ready-file` makes, where others are at its path meanwhile. */
import { existsSync, lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "fleetwright";
import { OwnedStorage, ReadyFile } from "../../../adapters/cli/work/ready-file.ts";
import { schema } from "../../support/file-storages.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("is not written through a link that somebody put there after the check", () => {
  const folder = temporaryFolder();
  const [path, target] = [join(folder, "ready"), join(folder, "target")];
  const file = new ReadyFile(path);
  file.removeLeft();
  symlinkSync(target, path);
  expect(() => file.write()).toThrow(`--ready-file: ${path} can't be changed (EEXIST).`);
  expect(existsSync(target)).toBe(false);
  file.remove(new RecordingLogger());
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
});

it("takes nothing away that came between the check and the start", () => {
  const path = join(temporaryFolder(), "ready");
  const file = new ReadyFile(path);
  writeFileSync(path, "secret");
  expect(() => file.removeLeft()).toThrow("something else is there");
  expect(readFileSync(path, "utf8")).toBe("secret");
});

it("of the next server is not removed by the one before", () => {
  const path = join(temporaryFolder(), "ready");
  const logger = new RecordingLogger();
  const [first, second] = [new ReadyFile(path), new ReadyFile(path)];
  first.write();
  second.removeLeft();
  second.write();
  first.remove(logger);
  expect(existsSync(path)).toBe(true);
  second.remove(logger);
  expect(existsSync(path)).toBe(false);
});

it("that can't be removed at the start leaves the data folder to the next server", async () => {
  const folder = temporaryFolder();
  const options = { folder: join(folder, "data"), clock: systemClock, logger: new RecordingLogger() };
  const refused = new OwnedStorage(options, () => {
    throw new Error("something else is there");
  });
  await expect(refused.open(schema)).rejects.toThrow("something else is there");
  let opened = 0;
  const next = new OwnedStorage(options, () => (opened += 1));
  await next.open(schema);
  expect(opened).toBe(1);
  await next.close();
});

it("that can't be removed is told in the log", () => {
  const folder = temporaryFolder();
  const file = new ReadyFile(join(folder, "ready"));
  const logger = new RecordingLogger();
  file.write();
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "");
  file.remove(logger);
  rmSync(folder);
  expect(JSON.stringify(logger)).toContain("ENOTDIR");
});
