import { describe, expect, test, vi } from "vitest";
import { hostError } from "../../../lib/host/host-error.ts";
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { describeLaws, localHost, text } from "../../support/laws.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0 ops@example.com";
const other = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDotherkey bob";
const home = "/work/deploy";
const folder = `${home}/.ssh`;
const path = `${folder}/authorized_keys`;

// The user is whoever runs the test, so that the laws hold on a real file system without being root.
const uid = process.getuid?.() ?? 0;
const gid = process.getgid?.() ?? 0;

function prepare(host: Host): void {
  host.files.makeDirectory("/etc", {});
  host.files.writeFile("/etc/passwd", text(`deploy:x:${uid}:${gid}::${home}:/bin/sh\n`), { mode: 0o644 });
  host.files.makeDirectory(home, { mode: 0o755, uid, gid });
}

function prepareKeys(host: Host, content: string): void {
  prepare(host);
  host.files.makeDirectory(folder, { mode: 0o700, uid, gid });
  host.files.writeFile(path, text(content), { mode: 0o600, uid, gid });
}

function memoryHost(): MemoryHost {
  const host = new MemoryHost();
  host.files.makeDirectory("/work", {});
  return host;
}

describeLaws(
  {
    "a key of a user who has none": {
      definition: { type: "authorized_key", user: "deploy", key, options: 'from="10.0.0.0/8, ::1",no-pty' },
      prepare,
      breakIt: (host) => host.files.writeFile(path, text(`${key}\n`), {}),
    },
    "a key with other options": {
      definition: { type: "authorized_key", user: "deploy", key },
      prepare: (host) => prepareKeys(host, `# team\nno-pty ${key} x\n${other}\n`),
      breakIt: (host) => host.files.writeFile(path, text(`# team\nno-pty ${key}\n${other}\n${key}\n`), {}),
    },
    "a key that is not wanted": {
      definition: { type: "authorized_key", user: "deploy", key, ensure: "absent" },
      prepare: (host) => prepareKeys(host, `${other}\n${key} x\n`),
      breakIt: (host) => host.files.writeFile(path, text(`${other}\nno-pty ${key}\n`), {}),
    },
  },
  { "in memory": memoryHost, "on this machine": localHost },
);

const wanted = (more: object = {}) =>
  declare([{ id: "k", type: "authorized_key", user: "deploy", key, ...more }]);

function fixture(content?: string): StateFixture {
  const state = new StateFixture(memoryHost());
  if (content === undefined) prepare(state.host);
  else prepareKeys(state.host, content);
  return state;
}

test("folder and file get the modes that the server asks for", async () => {
  const state = fixture("");
  state.host.files.setAttributes(folder, { mode: 0o775 });
  state.host.files.setAttributes(path, { mode: 0o664 });
  const run = await state.run("apply", wanted());
  expect(run.results[0]?.changes).toMatchObject([
    { property: "ensure" },
    { property: "line", before: null, after: key },
    { property: "folder_mode", before: "0775", after: "0700" },
    { property: "file_mode", before: "0664", after: "0600" },
  ]);
  expect([folder, path].map((each) => state.host.files.stat(each)?.mode)).toEqual([0o700, 0o600]);
});

test("a mode that a host sets in its own time is waited for, and is a failure where it can't be set", async () => {
  const state = fixture("");
  state.host.files.setAttributes(folder, { mode: 0o775 });
  const files: Host["files"] = state.host.files;
  vi.spyOn(files, "setAttributes").mockRejectedValue(hostError(folder, "EROFS"));
  const run = await state.run("apply", wanted());
  expect(run.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  expect(state.read(path)).toBe("");
});

test("a second line of the same key, which would open what the options close, goes", async () => {
  const state = fixture(`${key}\n${other}\n${key} again\n`);
  await state.run("apply", wanted({ options: "no-pty" }));
  expect(state.read(path)).toBe(`no-pty ${key}\n${other}\n`);
});

test("a file that stands there keeps its group, and so does its folder; new ones have that of the user", async () => {
  const state = fixture("");
  const theirs = gid + 1;
  state.host.files.setAttributes(folder, { gid: theirs });
  state.host.files.setAttributes(path, { gid: theirs });
  const groups = (): unknown[] => [folder, path].map((each) => state.host.files.stat(each)?.gid);
  await state.run("apply", wanted());
  expect(groups()).toEqual([theirs, theirs]);
  await state.run("apply", []);
  expect(groups()).toEqual([theirs, theirs]);
  const none = fixture();
  await none.run("apply", wanted());
  expect([folder, path].map((each) => none.host.files.stat(each))).toMatchObject([{ gid }, { gid }]);
});

test("a removal takes back our line, and leaves what others added", async () => {
  const state = fixture();
  await state.run("apply", wanted());
  state.host.files.writeFile(path, text(`${state.read(path)}${other}\n`), {});
  await state.run("apply", []);
  expect(state.read(path)).toBe(`${other}\n`);
});

const besides: [string, (host: Host) => unknown, string[] | null][] = [
  ["nothing else", () => {}, null],
  ["another file", (host) => host.files.writeFile(`${folder}/known_hosts`, text("x"), {}), ["known_hosts"]],
  ["a link", (host) => host.files.makeSymlink(`${folder}/id`, "/gone"), ["id"]],
  ["a folder", (host) => host.files.makeDirectory(`${folder}/config.d`, {}), ["config.d"]],
  ["no file any more", (host) => host.files.removeFile(path), null],
  [
    "a file in its place",
    (host) => {
      host.files.removeFile(path);
      host.files.writeFile(`${folder}/known_hosts`, text("x"), {});
    },
    ["known_hosts"],
  ],
];

test.each(besides)(
  "a removal takes the folder that it made, unless the user has put something there: %s",
  async (_, put, left) => {
    const state = fixture();
    await state.run("apply", wanted());
    put(state.host);
    await state.run("apply", []);
    expect(state.host.files.stat(folder) && state.host.files.list(folder)).toEqual(left);
    expect(outcomes(await state.run("apply", []))).toEqual([]);
  },
);

const blob = key.split(" ")[1]!;
const line = (content: string): string => `${content}\n`;

test.each([
  ["of a comment", line(`# ${key}`), line(`# ${key}`) + line(key)],
  ["of a comment behind blanks", line(`  # ${key}`), line(`  # ${key}`) + line(key)],
  [
    "of a key that begins with it",
    line(`ssh-ed25519 ${blob}AA x`),
    line(`ssh-ed25519 ${blob}AA x`) + line(key),
  ],
  ["of the same key with tabs", line(`ssh-ed25519\t${blob}\tx`), line(key)],
  ["of the same key behind options", line(`no-pty,from="a b" ssh-ed25519 ${blob}`), line(key)],
])("the line %s is told from that of the key", async (_what, before, after) => {
  const state = fixture(before);
  await state.run("apply", wanted());
  expect(state.read(path)).toBe(after);
  await state.run("apply", []);
  expect(state.read(path)).toBe(before);
});

/** What is declared, how folder and file stand, what somebody does then; modes while it is applied, and after its removal. */
const modes: Record<
  string,
  {
    more?: object;
    stands: [number, number?];
    meanwhile?: (host: Host) => unknown;
    applied: (number | undefined)[];
    left: (number | undefined)[];
  }
> = {
  "a folder and a file": { stands: [0o750, 0o640], applied: [0o700, 0o600], left: [0o750, 0o640] },
  "a folder alone": { stands: [0o750], applied: [0o700, 0o600], left: [0o750, undefined] },
  "a folder whose file somebody took away": {
    stands: [0o750, 0o640],
    meanwhile: (host) => host.files.removeFile(path),
    applied: [0o700, 0o600],
    left: [0o750, undefined],
  },
  "a folder of a key that is not wanted": {
    more: { ensure: "absent" },
    stands: [0o750, 0o640],
    applied: [0o750, 0o640],
    left: [0o750, 0o640],
  },
};

test.each(Object.entries(modes))("%s: its modes are as declared, and come back", async (_what, row) => {
  const { more, stands, meanwhile, applied, left } = row;
  const [folderMode, fileMode] = stands;
  const state = fixture();
  state.host.files.makeDirectory(folder, { mode: folderMode, uid, gid });
  if (fileMode !== undefined)
    state.host.files.writeFile(path, text(line(other)), { mode: fileMode, uid, gid });
  const look = (): unknown[] => [folder, path].map((each) => state.host.files.stat(each)?.mode);
  await state.run("apply", wanted(more));
  expect(look()).toEqual(applied);
  meanwhile?.(state.host);
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(look()).toEqual(left);
});

test("a line that stood in a file which somebody took away does not make it again", async () => {
  const state = fixture(line(`no-pty ${key}`));
  await state.run("apply", wanted());
  state.host.files.removeFile(path);
  expect(outcomes(await state.run("apply", []))).toEqual(["k unchanged"]);
  expect(state.host.files.stat(path)).toBeNull();
});

test("a line that somebody brought back himself goes where it stood", async () => {
  const before = line(`no-pty ${key}`) + line(other);
  const state = fixture(before);
  await state.run("apply", wanted());
  state.host.files.writeFile(path, text(line(other) + line(`no-pty ${key}`)), {});
  expect(outcomes(await state.run("apply", []))).toEqual(["k changed"]);
  expect(state.read(path)).toBe(before);
});

test("keys that begin alike are two, each named by its end", async () => {
  const state = fixture();
  const keyOf = (end: string): string =>
    `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ${"A".repeat(40)}${end.repeat(44)}`;
  const desired = ["b", "c"].map((end) => ({
    id: end,
    type: "authorized_key",
    user: "deploy",
    key: keyOf(end),
  }));
  const { results } = await state.run("apply", declare(desired));
  expect(results.map(({ identity }) => identity)).toEqual(
    ["b", "c"].map((end) => `deploy: ssh-rsa ${end.repeat(44)}`),
  );
  expect(state.read(path)).toBe(line(keyOf("b")) + line(keyOf("c")));
});

test("the key of a user who is not there is a change to a drift check, and a failure to a plan and an apply", async () => {
  const state = new StateFixture(memoryHost());
  expect(outcomes(await state.run("check", wanted()))).toEqual(["k would_change"]);
  expect(outcomes(await state.run("plan", wanted()))).toEqual(["k failed"]);
  expect((await state.run("apply", wanted())).results[0]).toMatchObject({
    code: "HOST_ERROR",
    message: 'There is no user "deploy".',
  });
});

describe.each([
  ["in memory", memoryHost],
  ["on this machine", localHost],
])("a hostile user, %s,", (_where, create) => {
  const attack = async (host: Host) => {
    const state = new StateFixture(host as MemoryHost);
    const outcome = (await state.run("apply", wanted())).results[0];
    expect(outcome).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  };

  test("who makes the folder a link gains nothing", async () => {
    const host = create();
    prepare(host);
    host.files.makeDirectory("/work/root-ssh", { mode: 0o700 });
    host.files.writeFile("/work/root-ssh/authorized_keys", text("theirs\n"), { mode: 0o644 });
    host.files.makeSymlink(folder, "/work/root-ssh");
    await attack(host);
    expect(Buffer.from(host.files.readFile("/work/root-ssh/authorized_keys")).toString()).toBe("theirs\n");
    expect(host.files.stat("/work/root-ssh/authorized_keys")?.mode).toBe(0o644);
  });

  test("who makes the file a link gains nothing", async () => {
    const host = create();
    prepareKeys(host, "");
    host.files.writeFile("/work/shadow", text("secret\n"), { mode: 0o640 });
    host.files.removeFile(path);
    host.files.makeSymlink(path, "/work/shadow");
    await attack(host);
    expect(Buffer.from(host.files.readFile("/work/shadow")).toString()).toBe("secret\n");
    expect(host.files.stat("/work/shadow")?.mode).toBe(0o640);
  });
});

test("a file of somebody else, which may be a second name of a secret, is left alone", async () => {
  const state = fixture("");
  state.host.files.setAttributes(path, { uid: uid + 1 });
  const result = (await state.run("apply", wanted())).results[0];
  expect(result?.message).toBe(`${path} does not belong to deploy, and is left alone.`);
  expect(state.host.files.stat(path)?.uid).toBe(uid + 1);
});

test("a file of root's in the home of a user is as little his as that of anybody else", async () => {
  const state = fixture("");
  state.write("/etc/passwd", `deploy:x:4000:4000::${home}:/bin/sh\n`);
  for (const each of [home, folder]) state.host.files.setAttributes(each, { uid: 4000 });
  state.host.files.setAttributes(path, { uid: 0 });
  const result = (await state.run("apply", wanted())).results[0];
  expect(result?.message).toBe(`${path} does not belong to deploy, and is left alone.`);
  expect(state.read(path)).toBe("");
});

test("a link that is put in the way between the look and the change is refused", async () => {
  const host = memoryHost();
  prepareKeys(host, "");
  host.files.makeDirectory("/work/root-ssh", {});
  const files = host.files.below(home);
  host.files.removeFile(path);
  host.files.removeDirectory(folder);
  host.files.makeSymlink(folder, "/work/root-ssh");
  expect(() => files.writeFile(path, text("x"), {})).toThrow(expect.objectContaining({ code: "HOST_ERROR" }));
  expect(host.files.list("/work/root-ssh")).toEqual([]);
});

test.each([
  { key: "hunter2" },
  { key: `${key}\n${other}` },
  { key: "ssh-ed25519 notbase64!" },
  { options: "no-pty\ncommand=x" },
  { options: 'from="open' },
  { options: "# comment" },
  { options: "two words" },
  { user: "-r" },
  { user: "../root" },
])("%j is a fault", (more) => {
  expect(() => wanted(more)).toThrow();
});
