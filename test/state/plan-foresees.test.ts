/**
 * Resources that need one another: a plan of a module looks at the machine as the module's own resources will have made it,
 * so an apply right after it ends as it said. Each case is a module on a fresh machine; then nothing is desired any more.
 */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { planText } from "../../lib/state/plan-text.ts";
import { editTable } from "../../lib/state/resources/shared/accounts.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { modelArchive } from "../support/machine/tar.ts";
import { repositoryPath, repositoryUrl, wholeMachine } from "../support/machine/whole-machine.ts";
import { foretold, told } from "../support/plan-and-apply.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const user = { id: "user", type: "user", name: "deploy" };
const group = { id: "group", type: "group", name: "ops" };
const owned = { owner: "deploy", group: "ops" };
const at = (type: string, path: string, more: JsonObject = {}): JsonObject => {
  return { id: path, type, path, ...more };
};
const folder = (path: string, more: JsonObject = {}): JsonObject => at("directory", path, more);
const file = (path: string, content: string, more: JsonObject = {}): JsonObject => {
  return at("file", path, { content, ...more });
};
const pack = (name: string): JsonObject => ({ id: name, type: "package", name });
const key = {
  id: "key",
  type: "authorized_key",
  user: "deploy",
  key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 ops",
};
const cron = { id: "cron-job", type: "cron", name: "job", hour: 3, command: "/bin/true" };
const script = (more: JsonObject): JsonObject => ({
  id: "script",
  type: "script",
  run: "touch srv/done",
  ...more,
});
const service = (name: string, more: JsonObject = {}): JsonObject => {
  return { id: "service", type: "service", name, running: true, enabled: true, ...more };
};
const source = modelArchive([{ name: "t/" }, { name: "t/tool", content: "tool" }]).toString();
const archive = at("archive", "/srv/tool", { source: "/srv/t.tar", strip_components: 1 });
const git = (more: JsonObject = {}): JsonObject =>
  at("git", "/srv/site", { repository: repositoryUrl, ...more });

/** Each of these is applied without a failure. */
const works: Record<string, JsonObject[]> = {
  "a file, a folder and what is in it of a user and a group": [
    user,
    group,
    folder("/srv/app", { ...owned, recurse: true }),
    file("/srv/app/conf", "x", owned),
  ],
  "an archive of a user, from a file": [user, group, file("/srv/t.tar", source), { ...archive, ...owned }],
  "a clone of a user": [user, git({ user: "deploy" })],
  "a file in a clone": [git(), file("/srv/site/own", "x")],
  "a clone in a folder": [folder("/srv/www"), { ...git(), path: "/srv/www/site" }],
  "a clone of a repository that comes before": [folder(repositoryPath), git({ repository: repositoryPath })],
  "a key of a user": [user, key],
  "a line in what every new home begins with": [
    folder("/etc/skel"),
    file("/etc/skel/.profile", "umask 022\n"),
    user,
    at("line", "/home/deploy/.profile", { line: "umask 077", match: "umask *" }),
  ],
  "a file in a folder of an archive": [
    file("/srv/t.tar", modelArchive([{ name: "t/" }, { name: "t/etc/" }]).toString()),
    archive,
    file("/srv/tool/etc/own", "x"),
  ],
  "no job of a user": [pack("cron"), user, { ...cron, user: "deploy", ensure: "absent" }],
  "a job of a user": [pack("cron"), user, { ...cron, user: "deploy" }],
  "a job, with the program that brings it": [pack("cron"), cron],
  "a script of a user, in a folder": [
    user,
    folder("/srv/app"),
    script({ user: "deploy", cwd: "/srv/app", creates: "/srv/done" }),
  ],
  "a script whose check runs as a user": [user, script({ check: "test -e srv/done", user: "deploy" })],
  "a script that is run by what changes": [folder("/srv/app"), script({ run_on: ["/srv/app"] })],
  "a folder that a script fills and empties": [
    folder("/srv/in"),
    script({ run: "touch srv/in/done", creates: "/srv/in/done", undo: "rm srv/in/done" }),
  ],
  "a user in a group": [group, { ...user, groups: ["ops"] }],
  "a group with a user who says the same": [
    user,
    { ...group, members: ["deploy"] },
    { ...user, id: "again", name: "deploy2", groups: ["ops"] },
  ],
  "a user whose primary group comes before": [
    { ...group, gid: 2000 },
    { ...user, group: "ops" },
  ],
  "a service of a file": [file("/etc/init.d/site", "#!/bin/sh\n", { mode: "0755" }), service("site")],
  "a service that follows a file of the run": [
    file("/etc/x", "x"),
    service("ssh", { restart_on: ["/etc/x"] }),
  ],
  "a package of a source": [
    { id: "source", type: "package_repository", name: "own", uris: ["https://deb.example/"] },
    pack("web"),
  ],
  "a source with the key of a file": [
    folder("/etc/apt/keys"),
    file("/etc/apt/keys/own.asc", "key"),
    {
      id: "source",
      type: "package_repository",
      name: "own",
      uris: ["https://deb.example/"],
      key_path: "/etc/apt/keys/own.asc",
    },
  ],
  "a line and a block in a file": [
    at("file", "/etc/x"),
    at("line", "/etc/x", { line: "b" }),
    { ...at("block", "/etc/x", { content: "a\nc\n" }), id: "block" },
    { ...at("line", "/etc/x", { line: "a" }), id: "same" },
  ],
  "a file with the line and the block that others want in it": [
    file("/etc/x", "a\n# BEGIN block\nc\n# END block\n"),
    at("line", "/etc/x", { line: "a" }),
    { ...at("block", "/etc/x", { content: "c\n" }), id: "block" },
  ],
  "a file owned by the user that a package makes": [pack("web"), file("/srv/page", "x", { owner: "web" })],
  "a file in a folder of a package": [pack("web"), file("/etc/web/own.conf", "x")],
  "a mount on a folder": [
    folder("/srv/cache"),
    at("mount", "/srv/cache", { id: "mount", device: "tmpfs", fstype: "tmpfs" }),
  ],
  "a home with a mode of its own": [user, folder("/home/deploy", { mode: "0700" })],
  "a home that is as useradd makes it": [user, folder("/home/deploy", { mode: "0755" })],
  "a home after other settings": [
    file("/etc/login.defs", "#HOME_MODE 0711\nHOME_MODE\t0750\nUMASK 077\n"),
    user,
    folder("/home/deploy", { mode: "0755" }),
  ],
  "a file below a link": [
    folder("/srv/app"),
    at("symlink", "/srv/now", { target: "app" }),
    file("/srv/now/conf", "x"),
  ],
  "a file that is there already below a link": [
    folder("/srv/app"),
    file("/srv/app/conf", "x"),
    at("symlink", "/srv/now", { target: "/srv/app" }),
    file("/srv/now/conf", "x"),
  ],
  "a time zone of a package": [pack("tzdata"), { id: "zone", type: "timezone", name: "Europe/Berlin" }],
  "a time zone of a file": [
    folder("/usr/share"),
    folder("/usr/share/zoneinfo"),
    file("/usr/share/zoneinfo/UTC", "TZif"),
    { id: "zone", type: "timezone", name: "UTC" },
  ],
  "a setting in a file of the run": [
    at("file", "/etc/sysctl.d/own.conf"),
    { id: "sysctl", type: "sysctl", key: "net.ipv4.ip_forward", value: "1", path: "/etc/sysctl.d/own.conf" },
  ],
  "a host in a file of the run": [
    at("file", "/etc/hosts"),
    { id: "host", type: "host_entry", name: "db", ip: "10.0.0.5" },
  ],
  "a name in a file of the run": [
    { id: "name", type: "hostname", name: "web-1" },
    at("line", "/etc/hostname", { line: "web-1" }),
  ],
  "a file that is judged by a program": [
    file("/etc/sudoers", "x\ny\n", { validate: ["visudo", "%"] }),
    at("line", "/etc/sudoers", { line: "y" }),
  ],
  "a drop-in and the folder that it makes": [
    folder("/etc/systemd"),
    folder("/etc/systemd/system"),
    { id: "drop", type: "systemd_unit", name: "web.service", drop_in: "own.conf", content: "[Service]\n" },
    file("/etc/systemd/system/web.service.d/more.conf", "x"),
  ],
  "a folder that an archive and a clone fill": [
    folder("/srv/in"),
    file("/srv/t.tar", source),
    { ...archive, path: "/srv/in/tool" },
    { ...git(), path: "/srv/in/site" },
  ],
};

/** Nobody knows what a package brings: of these a plan tells what will be done, not what stands before. */
const likely: Record<string, JsonObject[]> = {
  "a service of a package": [pack("web"), service("web")],
  "a script whose check needs a program of a package": [
    pack("web"),
    script({ check: ["web-check"], run_on: ["web"] }),
  ],
};

/** Each of these fails, and what needs it is not done. */
const fails: Record<string, JsonObject[]> = {
  "a file of a user of nobody": [folder("/srv/app"), file("/srv/app/x", "x", { owner: "deploy" }), cron],
  "a file in a folder of nobody": [folder("/srv/app"), file("/srv/other/x", "x"), cron],
  "a job of a user of nobody": [folder("/srv/app"), { ...cron, user: "deploy" }],
  "a service of nobody": [folder("/srv/app"), service("site")],
  "a mount on a folder of nobody": [
    folder("/srv/app"),
    at("mount", "/srv/cache", { device: "tmpfs", fstype: "tmpfs" }),
  ],
  "a key of a user of nobody": [folder("/srv/app"), key],
  "a script of a user of nobody": [folder("/srv/app"), script({ user: "deploy", creates: "/srv/done" })],
  "a clone of a repository of nobody": [folder("/srv/app"), git({ repository: repositoryPath })],
  "a file of a user of nobody in an archive": [
    file("/srv/t.tar", source),
    archive,
    file("/srv/tool/own", "x", { owner: "deploy" }),
  ],
  "a line in a file of nobody": [folder("/srv/app"), at("line", "/srv/app/x", { line: "x" })],
  "an archive of nobody": [folder("/srv/app"), archive],
  "a time zone of nobody": [folder("/srv/app"), { id: "zone", type: "timezone", name: "Europe/Berlin" }],
  "a file where a folder was made": [
    folder("/srv/app/log", { parents: true }),
    at("line", "/srv/app", { id: "line", line: "x" }),
  ],
  "what needs something that fails": [
    file("/none/x", "x", { on_failure: "continue" }),
    { ...user, requires: ["/none/x"] },
    { ...key, on_failure: "continue" },
  ],
};

describe.each([
  ["works", works],
  ["works, with what a package brings", likely],
  ["fails", fails],
])("what %s", (_how, cases) => {
  test.each(Object.entries(cases))("%s", async (_name, drafts) => {
    const state = new StateFixture(wholeMachine({ hasCron: cases === fails }));
    for (const set of [declare(drafts), declare(drafts), []]) {
      const plan = await state.run("plan", set);
      // What an apply of this plan is refused by, were it not true.
      const confirm = (seen: readonly ResourceResult[]): void =>
        expect(planText(seen)).toBe(planText(plan.results));
      const applied = await state.run("apply", set, { confirm });
      const failures = applied.results.filter(({ outcome }) => outcome === "failed");
      if (cases !== fails) expect(failures.map(({ message }) => message)).toEqual([]);
      else if (set.length > 0) expect(failures).not.toEqual([]);
      const compare = cases === likely ? withoutChanges : (results: unknown) => results;
      expect(compare(told(applied))).toEqual(compare(foretold(plan, applied)));
    }
  });
});

test("a script of nobody that something sets off fails as it will", async () => {
  const state = new StateFixture(wholeMachine());
  const desired = declare([folder("/srv/app"), script({ run_on: ["/srv/app"], user: "deploy" })]);
  const plan = await state.run("plan", desired);
  expect(plan.results[1]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  const applied = await state.run("apply", desired);
  expect(foretold(plan, applied)).toEqual(told(applied));
});

test("a job of a user who will be gone by then fails as it will", async () => {
  const state = new StateFixture(wholeMachine({ hasCron: true }));
  await state.run("apply", declare([{ id: "old", type: "user", name: "old" }]));
  const desired = declare([
    { id: "old", type: "user", name: "old", ensure: "absent" },
    { id: "job", type: "cron", name: "job", user: "old", hour: 1, command: "true" },
  ]);
  const plan = await state.run("plan", desired);
  expect(plan.results[1]).toMatchObject({ outcome: "failed", message: 'There is no user "old".' });
  expect(told(await state.run("apply", desired))).toEqual(
    told(plan).map((each, at) => (at === 1 ? each : (expect.anything() as unknown))),
  );
});

test.each([
  ["nobody", [], "create"],
  ["himself", ["old"], "create"],
  ["another", ["root"], "none"],
  ["himself and another", ["old", "root"], "none"],
])(
  "the group of a user who will be gone has gone with him where it names %s",
  async (_who, members, action) => {
    const state = new StateFixture(wholeMachine());
    await state.run("apply", declare([{ id: "old", type: "user", name: "old" }]));
    editTable(state.host, "/etc/group", (rows) =>
      rows.map((row) => (row[0] === "old" ? [...row.slice(0, 3), members.join(",")] : row)),
    );
    const desired = declare([
      { id: "old", type: "user", name: "old", ensure: "absent" },
      { id: "group", type: "group", name: "old" },
    ]);
    const plan = await state.run("plan", desired);
    expect(plan.results.map((result) => result.action)).toEqual(["remove", action]);
    const applied = await state.run("apply", desired);
    expect(told(applied)).toEqual(foretold(plan, applied));
  },
);

function withoutChanges(results: unknown): unknown {
  return (results as JsonObject[]).map(({ changes: _changes, ...rest }) => rest);
}
