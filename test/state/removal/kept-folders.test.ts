/** A folder that stood before what was put into it, and that a version which is absent took along, comes back wherever it was. */
import { expect, test } from "vitest";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

test.each(["/data", "/work/data", "/work/a/b/data"])("%s", async (path) => {
  const state = new StateFixture(memoryMachine());
  const { files } = state.host;
  const parts = path.split("/").slice(1);
  for (const [at] of parts.entries()) {
    const folder = `/${parts.slice(0, at + 1).join("/")}`;
    if (!files.stat(folder)) files.makeDirectory(folder, { mode: 0o2750, uid: 7, gid: 8 });
  }
  const absent = declare([{ id: "a", type: "archive", path, ensure: "absent" }]);
  expect(outcomes(await state.run("apply", absent))).toEqual(["a changed"]);
  expect(files.stat(path)).toBeNull();
  expect(outcomes(await state.run("plan", []))).toEqual(["a would_change"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["a changed"]);
  expect(files.stat(path)).toMatchObject({ kind: "directory", mode: 0o2750, uid: 7, gid: 8 });
  expect(state.applied).toEqual([]);
});
