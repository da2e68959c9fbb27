import { describe, expect, test } from "vitest";
import { describeLaws, text } from "../../support/laws.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

describeLaws({
  "a new line in a new file": {
    definition: { id: "password", type: "line", path: "/work/conf", line: "password=hunter2", create: true },
    breakIt: (host) => host.files.writeFile("/work/conf", text(""), {}),
    secret: "hunter2",
  },
  "a line in the place of another": {
    definition: { type: "line", path: "/work/conf", line: "port=2222 *", match: ["port=*", "#port=*"] },
    prepare: (host) => host.files.writeFile("/work/conf", text("a=1\n#port=22\nb=2\n"), { mode: 0o644 }),
    breakIt: (host) => host.files.writeFile("/work/conf", text("a=1\nport=23\nb=2\n"), {}),
  },
  "a line that is not wanted": {
    definition: { type: "line", path: "/work/conf", line: "bad=1", ensure: "absent" },
    prepare: (host) => host.files.writeFile("/work/conf", text("a=1\nbad=1\n"), { mode: 0o644 }),
    breakIt: (host) => host.files.writeFile("/work/conf", text("bad=1\na=1\n"), {}),
  },
});

const path = "/etc.conf";
const line = (more: object) => declare([{ id: "l", type: "line", path, ...more }]);

async function edited(before: string, more: object): Promise<string> {
  const state = new StateFixture();
  state.write(path, before);
  expect((await state.run("apply", line(more))).status).toBe("succeeded");
  return state.read(path);
}

describe("the text afterwards", () => {
  test.each<[string, string, object, string]>([
    ["is added at the end", "a\n", { line: "b" }, "a\nb\n"],
    ["ends the line before it", "a", { line: "b" }, "a\nb\n"],
    ["is the first of an empty file", "", { line: "b" }, "b\n"],
    ["is another than one with blanks around it", " b\nb \n", { line: "b" }, " b\nb \nb\n"],
    ["stays where it is", "b\na\n", { line: "b" }, "b\na\n"],
    ["takes the place of what matches", "x\na=1\ny", { line: "a=2", match: "a=*" }, "x\na=2\ny"],
    ["goes, each time it stands there", "b\na\nb\n", { line: "b", ensure: "absent" }, "a\n"],
    ["goes by its pattern", "a=1\nx\n", { line: "a=2", match: "a=*", ensure: "absent" }, "x\n"],
  ])("the line %s", async (_name, before, more, after) => {
    expect(await edited(before, more)).toBe(after);
  });
});

test.each([
  ["different lines match", "a=1\na=2\n", { line: "a=3", match: "a=*" }],
  ["the file is no text", "\0", { line: "a" }],
])("it fails where %s, and leaves the file", async (_name, before, more) => {
  const state = new StateFixture();
  state.write(path, before);
  expect((await state.run("apply", line(more))).results[0]).toMatchObject({
    outcome: "failed",
    code: "HOST_ERROR",
  });
  expect(state.read(path)).toBe(before);
});

test("a file that is not there is made with create, and is an error without, as the plan says", async () => {
  const state = new StateFixture();
  expect(outcomes(await state.run("plan", line({ line: "a" })))).toEqual(["l failed"]);
  expect((await state.run("apply", line({ line: "a" }))).results[0]).toMatchObject({ code: "HOST_ERROR" });
  await state.run("apply", line({ line: "a", create: true }));
  expect(state.read(path)).toBe("a\n");
});

test("a file that another resource of the run makes can be edited", async () => {
  const desired = declare([
    { id: "f", type: "file", path },
    { id: "l", type: "line", path, line: "a" },
  ]);
  const state = new StateFixture();
  expect(outcomes(await state.run("plan", desired))).toEqual(["f would_change", "l would_change"]);
  expect(outcomes(await state.run("apply", desired))).toEqual(["f changed", "l changed"]);
});

test("a removal takes back our line and leaves what others added", async () => {
  const state = new StateFixture();
  state.write(path, "port=22\n");
  await state.run("apply", line({ line: "port=2222", match: "port=*" }));
  state.write(path, `${state.read(path)}theirs=1\n`);
  await state.run("apply", []);
  expect(state.read(path)).toBe("port=22\ntheirs=1\n");
});

test.each([
  ["brought the second back", "a=2\nx\na=1\n", "a=1\nx\na=1\n"],
  ["brought the first back", "a=1\nx\na=2\n", "a=1\nx\na=1\n"],
  ["took one of ours away", "x\na=2\n", "a=1\nx\na=1\n"],
  ["brought one back and took ours away", "a=1\nx\n", "a=1\nx\n"],
  ["brought one back and took ours and theirs away", "a=1\n", "a=1\n"],
])("of two equal lines what stood comes back, where somebody %s", async (_what, between, after) => {
  const state = new StateFixture();
  state.write(path, "a=1\nx\na=1\n");
  await state.run("apply", line({ line: "a=2", match: "a=*" }));
  expect(state.read(path)).toBe("a=2\nx\na=2\n");
  state.write(path, between);
  await state.run("apply", []);
  expect(state.read(path)).toBe(after);
});

test.each([
  ["edited ours", "port=22\nx\n", {}, "port=1\nx\n"],
  ["edited ours, where none stood", "x\n", {}, "x\nport=1\n"],
  ["wrote another of those that are unwanted", "port=22\nx\n", { ensure: "absent" }, "x\nport=1\n"],
  ["edited ours so that it fits another pattern", "port=22\nx\n", {}, "listen=1\nx\n"],
])("what an apply repaired does not come back, where somebody %s", async (_what, before, more, edited) => {
  const state = new StateFixture();
  state.write(path, before);
  const desired = line({ line: "port=2222", match: ["port=*", "listen=*"], ...more });
  await state.run("apply", desired);
  const applied = state.read(path);
  state.write(path, edited);
  await state.run("apply", desired);
  expect(state.read(path)).toBe(applied);
  await state.run("apply", []);
  expect(state.read(path)).toBe(before);
});

test.each([
  [
    "fit the first as a text, and fit it as a pattern",
    "5 * * * * root /x\n",
    [
      { line: "* * * * * root /x" },
      { line: "* * * * * root /x", ensure: "absent" },
      { line: "@hourly root /x", match: ["* * * * * root /x"] },
    ],
  ],
  [
    "stood beside the one that was taken, and fit the pattern of a later version",
    "ada ALL=/bin/*\nada ALL=/bin/ls\n",
    [
      { line: "ada ALL=/bin/*", ensure: "absent" },
      { line: "ada ALL=NONE", match: "ada ALL=/bin/*" },
    ],
  ],
  [
    "fit a pattern that came with a later version",
    "port=22\nlisten=1\n",
    [
      { line: "port=2222", match: "port=22" },
      { line: "port=2222", ensure: "absent", match: "port=22" },
      { line: "listen=2", match: ["port=22", "listen=*"] },
    ],
  ],
])("lines that %s come back", async (_what, before, versions) => {
  const state = new StateFixture();
  state.write(path, before);
  for (const version of versions)
    for (let time = 0; time < 2; time += 1) await state.run("apply", line(version));
  expect(state.read(path)).not.toBe(before);
  await state.run("apply", []);
  expect(state.read(path)?.split("\n").toSorted()).toEqual(before.split("\n").toSorted());
});

test.each<[what: string, before: string, versions: object[], changes: object[]]>([
  [
    "as gone where nothing stood",
    "a\nb\n",
    [
      { line: "new", match: "x" },
      { line: "newer", match: "x" },
    ],
    [{ before: "new\nnewer", after: null }],
  ],
  [
    "as what stood, also where only a later version took it",
    "a\nx=1\nb\n",
    [
      { line: "new", match: "x" },
      { line: "x=2", match: ["x", "x=*"] },
    ],
    [{ before: "x=2\nnew", after: "x=1" }],
  ],
])("a removal tells of a line %s", async (_what, before, versions, changes) => {
  const state = new StateFixture();
  state.write(path, before);
  for (const version of versions) await state.run("apply", line(version));
  for (const mode of ["plan", "apply"] as const)
    expect((await state.run(mode, [])).results).toMatchObject([{ changes }]);
  expect(state.read(path)).toBe(before);
});

test("what stood in a file that somebody took away does not make it again", async () => {
  const state = new StateFixture();
  state.write(path, "port=22\n");
  await state.run("apply", line({ line: "port=2222", match: "port=*" }));
  state.host.files.removeFile(path);
  expect(outcomes(await state.run("apply", []))).toEqual(["l unchanged"]);
  expect([state.host.files.stat(path), state.applied]).toEqual([null, []]);
});

test("a long line is named by as much of it as a name may have", () => {
  expect(line({ line: "x".repeat(8192) })[0]?.identity).toBe(`${path}: `.padEnd(4096, "x"));
});

test("a line that was unwanted comes back where it was, though many places look the same", async () => {
  const state = new StateFixture();
  const repeated = "[part]\nsame=1\n".repeat(12);
  for (const before of [3, 6, 9]) {
    const text = `${"[part]\nsame=1\n".repeat(before)}bad=1\n${"[part]\nsame=1\n".repeat(12 - before)}`;
    state.write(path, text);
    await state.run("apply", line({ line: "bad=1", ensure: "absent" }));
    expect(state.read(path)).toBe(repeated);
    await state.run("apply", []);
    expect(state.read(path)).toBe(text);
  }
});
