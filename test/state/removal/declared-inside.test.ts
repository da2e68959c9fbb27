/** A folder that is let go gives back what it changed in it, but for what another module declares there by now. */
import { beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { createMachine, declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

let state: StateFixture;
beforeEach(() => {
  state = new StateFixture(createMachine());
  for (const path of ["/d", "/d/sub"]) state.host.files.makeDirectory(path, { mode: 0o755 });
  for (const path of ["/d/x", "/d/y", "/d/sub/x"]) state.write(path, "before us");
});

const folder = (more: JsonObject): ReturnType<typeof declare> =>
  declare([{ id: "d", type: "directory", path: "/d", ...more }], "a");

/** How the folder is kept, what another module declares in it, and what else comes back. */
const rows: [string, JsonObject, JsonObject][] = [
  [
    "the owner of a file",
    { owner: "web", recurse: true },
    { type: "file", path: "/d/x", content: "before us", owner: "web" },
  ],
  ["the mode of a file", { recurse: true, file_mode: "0600" }, { type: "file", path: "/d/x", mode: "0600" }],
  [
    "what is below a folder",
    { owner: "web", recurse: true },
    { type: "directory", path: "/d/sub", owner: "web", recurse: true },
  ],
  ["a file that is to be absent", { purge: true }, { type: "file", path: "/d/x", ensure: "absent" }],
  ["what is purged in a folder", { purge: true }, { type: "directory", path: "/d/sub", purge: true }],
];

describe.each(rows)("%s", (_what, kept, definition) => {
  const other = declare([{ id: "x", ...definition }], "b");

  test.each([true, false])("stays as another module declares it (applied apart: %s)", async (isApart) => {
    await state.run("apply", folder(kept), { scope: ["a"] });
    await state.run("apply", other, { scope: ["b"] });
    const { status } = await state.run("apply", isApart ? [] : other, isApart ? { scope: ["a"] } : {});
    expect(status).toBe("succeeded");
    expect(outcomes(await state.run("plan", other, { scope: ["b"] }))).toEqual(["x unchanged"]);
    expect(state.read("/d/y")).toBe("before us");
    expect(state.host.files.stat("/d/y")).toMatchObject({ uid: 0, mode: 0o644 });
  });
});
