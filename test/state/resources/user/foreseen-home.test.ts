/** What a plan tells of the home that useradd(8) will make: it reads the same settings. */
import { expect, test } from "vitest";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

test.each([
  ["", "0755"],
  ["UMASK 000\n", "0777"],
  ["UMASK 0\n", "0777"],
  ["UMASK 022\n", "0755"],
  ["UMASK\t0027\n", "0750"],
  ["  UMASK 77\n", "0700"],
  ["#UMASK 077\n", "0755"],
  ["HOME_MODE 0700\n", "0700"],
  ["HOME_MODE 711\n", "0711"],
  ["HOME_MODE 0\n", "0000"],
  ["UMASK 000\nHOME_MODE 0750\n", "0750"],
  ["OLD_UMASK 077\nUMASK_OF_OTHERS 077\n", "0755"],
])("with the settings %j a new home is foreseen with the mode %s", async (settings, mode) => {
  const state = new StateFixture(memoryMachine());
  state.write("/etc/login.defs", settings);
  const { results } = await state.run(
    "plan",
    declare([
      { id: "user", type: "user", name: "deploy" },
      { id: "home", type: "directory", path: "/home/deploy", mode: "1770" },
    ]),
  );
  expect(results[1]?.changes).toEqual([{ property: "mode", before: mode, after: "1770" }]);
});

test.each([
  ["", "/home"],
  ["HOME=/srv/homes\n", "/srv/homes"],
  ["GROUP=100\nHOME=/srv/homes\nSHELL=/bin/sh\n", "/srv/homes"],
  ["# HOME=/srv/homes\n", "/home"],
  ["#HOME=/srv/homes\n", "/home"],
  ["OLD_HOME=/srv/homes\n", "/home"],
  ["HOME=\n", "/home"],
])("with the settings %j a new home is foreseen in %s", async (settings, folder) => {
  const state = new StateFixture(memoryMachine());
  for (const path of ["/etc/default", "/srv", "/srv/homes"])
    if (!state.host.files.stat(path)) state.host.files.makeDirectory(path, { mode: 0o755 });
  state.write("/etc/default/useradd", settings);
  const { results } = await state.run(
    "plan",
    declare([
      { id: "user", type: "user", name: "deploy" },
      { id: "home", type: "directory", path: `${folder}/deploy`, mode: "0755", owner: "deploy" },
    ]),
  );
  expect(results.map(({ outcome }) => outcome)).toEqual(["would_change", "unchanged"]);
});
