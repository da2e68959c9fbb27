/** Files that appear, or are replaced, as a whole: whatever the disk does meanwhile. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { replacePrivateFile } from "../../../adapters/cli/private-file.ts";
import { limitWrites } from "../../support/small-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const before = "the old keys\n";
const after = "the new keys, and one more\n";

function fileOf(): { folder: string; path: string } {
  const folder = temporaryFolder();
  const path = join(folder, "secrets.key");
  writeFileSync(path, before);
  return { folder, path };
}

test("a disk that takes a text in pieces is given all of them", () => {
  const { folder, path } = fileOf();
  limitWrites({ piece: 10 });
  replacePrivateFile(path, after);
  expect(readFileSync(path, "utf8")).toBe(after);
  expect(readdirSync(folder)).toEqual(["secrets.key"]);
});

test("a disk that is full in the middle leaves the old text, and nothing beside it", () => {
  const { folder, path } = fileOf();
  const { end } = limitWrites({ piece: 10, all: 20 });
  expect(() => replacePrivateFile(path, after, `${path}.${process.pid}`)).toThrow("ENOSPC");
  end();
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(readdirSync(folder)).toEqual(["secrets.key"]);
});
