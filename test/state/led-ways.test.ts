/** A way that somebody else leads: what is root's is neither taken for his, nor taken away in its place. */
import { beforeEach, expect, test } from "vitest";
import { hostError } from "../../lib/host/host-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const web = { uid: 33, gid: 33 };
let state: StateFixture;

beforeEach(() => {
  state = new StateFixture(wholeMachine());
  for (const folder of ["/srv", "/etc/cron.d", "/etc/sudoers.d"])
    if (!state.host.files.stat(folder)) state.host.files.makeDirectory(folder, { mode: 0o755 });
  for (const folder of ["/home/web", "/home/web/data", "/home/web/data/sub"])
    state.host.files.makeDirectory(folder, { mode: 0o755, ...web });
});

/** The user `web` puts a link in the place of a folder of his. */
function leads(folder: string, target: string): void {
  const { files } = state.host;
  for (const name of files.list(folder)) files.removeFile(`${folder}/${name}`);
  files.removeDirectory(folder);
  files.makeSymlink(folder, target, web);
}

const file = (id: string, path: string, content = "x"): JsonObject => ({ id, type: "file", path, content });

test.each([
  ["is not desired any more", []],
  ["is still desired", [file("o", "/srv/cur/sub/f", "y")]],
])(
  "behind a declared link that is gone takes nothing of root's away where what is there %s",
  async (_how, more) => {
    const link: JsonObject = { id: "l", type: "symlink", path: "/srv/cur", target: "/home/web/data" };
    state.write("/etc/cron.d/f", "root's own");
    await state.run("apply", declare([link, file("o", "/srv/cur/sub/f")]));
    state.host.files.removeFile("/srv/cur");
    leads("/home/web/data/sub", "/etc/cron.d");
    const run = await state.run("apply", declare([link, ...more]));
    expect(outcomes(run)).toContain("o failed");
    expect(state.read("/etc/cron.d/f")).toBe("root's own");
    await state.run("apply", declare([link]));
    expect(state.read("/etc/cron.d/f")).toBe("root's own");
  },
);

test("to a file of root's keeps nobody from taking that away", async () => {
  const own = file("o", "/home/web/data/sub/web");
  await state.run("apply", declare([own, file("s", "/etc/sudoers.d/web")]));
  leads("/home/web/data/sub", "/etc/sudoers.d");
  expect(outcomes(await state.run("plan", declare([own])))).toEqual(["s would_change", "o failed"]);
  expect(outcomes(await state.run("apply", declare([own])))).toEqual(["s changed", "o failed"]);
  expect(state.host.files.stat("/etc/sudoers.d/web")).toBeNull();
});

test("to a file that another module has leaves that module's file to it, also when the way is mended", async () => {
  const own = declare([file("o", "/home/web/data/sub/web")], "a");
  await state.run("apply", [...own, ...declare([file("s", "/etc/sudoers.d/web")], "b")]);
  leads("/home/web/data/sub", "/etc/sudoers.d");
  await state.run("apply", own, { scope: ["a"] });
  state.host.files.removeFile("/home/web/data/sub");
  state.host.files.makeDirectory("/home/web/data/sub", { mode: 0o755, ...web });
  await state.run("apply", own, { scope: ["a"] });
  expect(state.read("/etc/sudoers.d/web")).toBe("x");
  await state.run("apply", []);
  expect(state.host.files.stat("/etc/sudoers.d/web")).toBeNull();
});

test("keeps no apply from being made, wherever it leads", async () => {
  const wanted = [
    file("o", "/home/web/data/sub/f"),
    { id: "d", type: "directory", path: "/srv/old", ensure: "absent" },
  ];
  leads("/home/web/data/sub", "/srv/old");
  const run = await state.run("apply", [...declare(wanted), ...declare([file("p", "/srv/p")], "other")]);
  expect(outcomes(run)).toContain("p changed");
});

test("to where nobody can tell who leads keeps nobody from taking away what root has there", async () => {
  const own = file("o", "/home/web/data/sub/web");
  await state.run("apply", declare([own, file("s", "/etc/sudoers.d/web")]));
  leads("/home/web/data/sub", "/etc/sudoers.d");
  const { files } = state.host;
  const ledBy = files.ledBy.bind(files);
  const broken = (path: string): number | null => {
    if (path === "/etc/sudoers.d") throw hostError(path, "EIO");
    return ledBy(path);
  };
  Object.assign(files, { ledBy: broken });
  expect(outcomes(await state.run("apply", declare([own])))).toEqual(["s changed", "o failed"]);
  expect(files.stat("/etc/sudoers.d/web")).toBeNull();
});
