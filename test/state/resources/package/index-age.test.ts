import { mkdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalHost } from "../../../../lib/host/local-host.ts";
import { isOlder } from "../../../../lib/state/resources/package/provider.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const hour = 3600;

test.each([
  ["just now", 0, false],
  ["an hour ago", -hour, false],
  ["three hours ago", -3 * hour, true],
  ["in an hour, by a clock that was ahead", hour, true],
  ["in a year, by a clock that was ahead", 8760 * hour, true],
])("an index that was fetched %s is told by its age", async (_when, seconds, expected) => {
  const folder = temporaryFolder();
  const index = join(folder, "index");
  mkdirSync(index);
  if (seconds !== 0) utimesSync(index, Date.now() / 1000 + seconds, Date.now() / 1000 + seconds);
  const machine = {
    host: new LocalHost({ stateFolder: join(folder, "state") }),
    signal: new AbortController().signal,
  };
  expect(await isOlder(index, 2 * hour, machine)).toBe(expected);
});
