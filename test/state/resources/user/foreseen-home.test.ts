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
