/** A folder that was made on the way to what is in it stays where somebody else has a say in it. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const units = "/etc/systemd/system";
const folder = (id: string, path: string, more: JsonObject = {}): JsonObject => {
  return { id, type: "directory", path, ...more };
};
const dropIn = (id: string): JsonObject => {
  return { id, type: "systemd_unit", name: "site.service", drop_in: `${id}.conf`, content: `# ${id}` };
};
const above = { parents: true };
const kept = { removal: "keep" };

/** What each version has, and the folder that is there at the end. */
const cases: [name: string, stays: string, ...versions: JsonObject[][]][] = [
  [
    "one that was declared and let go",
    "/a",
    [folder("x", "/a/x", above), folder("y", "/a/y", above)],
    [folder("x", "/a/x", above), folder("y", "/a/y", above), folder("d", "/a", kept)],
    [folder("y", "/a/y", above), folder("d", "/a", kept)],
    [folder("y", "/a/y", above)],
  ],
  [
    "one that was made for what was let go",
    "/srv/data",
    [folder("x", "/srv/data/x", { ...above, ...kept }), folder("y", "/srv/data/y", above)],
    [folder("y", "/srv/data/y", above)],
  ],
  [
    "one of drop-ins that was declared and let go",
    `${units}/site.service.d`,
    [dropIn("a"), dropIn("b")],
    [dropIn("a"), dropIn("b"), folder("d", `${units}/site.service.d`, kept)],
    [dropIn("b"), folder("d", `${units}/site.service.d`, kept)],
    [dropIn("b")],
  ],
];

test.each(cases)("%s", async (_name, stays, ...versions) => {
  const state = new StateFixture(memoryMachine());
  for (const path of ["/etc/systemd", units]) state.host.files.makeDirectory(path, {});
  for (const version of versions)
    expect((await state.run("apply", declare(version))).status).toBe("succeeded");
  // What was let go is somebody's own by now, who takes it away.
  if (state.host.files.stat("/srv/data/x")) state.host.files.removeDirectory("/srv/data/x");
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.applied).toEqual([]);
  expect(state.host.files.stat(stays)).toMatchObject({ kind: "directory" });
});

test.each([
  ["line", { line: "[Unit]", create: true }],
  ["block", { content: "[Unit]", create: true }],
])("a %s that made the file of a unit says nothing of the folder of its drop-ins", async (type, more) => {
  const state = new StateFixture(memoryMachine());
  const theirs = `${units}/x.service.d`;
  for (const path of ["/etc/systemd", units, theirs]) state.host.files.makeDirectory(path, {});
  const part = { id: "part", type, path: `${units}/x.service`, ...more };
  const unit = { id: "unit", type: "systemd_unit", name: "x.service", content: "[Unit]\n" };
  for (const version of [[part], [unit], []])
    expect((await state.run("apply", declare(version))).status).toBe("succeeded");
  expect(state.host.files.stat(theirs)).toMatchObject({ kind: "directory" });
});
