/** Data folders that several processes make at once, as when they start for the first time. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { nodeDisk } from "../../../lib/storage/file/disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("makes what others make at the same time", async () => {
  const top = temporaryFolder();
  const folders = Array.from({ length: 20 }, (_, n) => join(top, `${n % 4}`, "fleet", `server-${n % 10}`));
  await Promise.all(folders.map((folder) => nodeDisk.makeFolder(folder)));
  expect(folders.filter((folder) => !existsSync(folder))).toEqual([]);
});
