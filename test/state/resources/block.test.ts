import { describe, expect, test } from "vitest";
import { resolveResource } from "../../../lib/state/definition.ts";
import { describeLaws, text } from "../../support/laws.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

describeLaws({
  "a new block in a new file": {
    definition: { type: "block", path: "/work/conf", content: "password=hunter2\n", create: true },
    breakIt: (host) => host.files.writeFile("/work/conf", text(""), {}),
    secret: "hunter2",
  },
  "a block with another content": {
    definition: { type: "block", path: "/work/conf", name: "web", content: "a\nb" },
    prepare: (host) =>
      host.files.writeFile("/work/conf", text("x\n# BEGIN web\nold\n# END web\ny\n"), { mode: 0o644 }),
    breakIt: (host) => host.files.writeFile("/work/conf", text("x\n# BEGIN web\na\n# END web\ny\n"), {}),
  },
  "a block that is not wanted": {
    definition: { type: "block", path: "/work/conf", ensure: "absent" },
    prepare: (host) =>
      host.files.writeFile("/work/conf", text("x\n# BEGIN block\nold\n# END block\n"), { mode: 0o644 }),
    breakIt: (host) => host.files.writeFile("/work/conf", text("x\n# BEGIN block\n# END block\n"), {}),
  },
});

const path = "/etc.conf";
const block = (more: object = {}) => declare([{ id: "b", type: "block", path, content: "in\n", ...more }]);

async function apply(before: string, more: object = {}) {
  const state = new StateFixture();
  state.write(path, before);
  const run = await state.run("apply", block(more));
  return { state, result: run.results[0], text: state.read(path) };
}

describe("a new block", () => {
  const own = "# BEGIN block\nin\n# END block\n";
  test.each<[string, string, object, string]>([
    ["goes to the end", "a\nb", {}, `a\nb\n${own}`],
    ["is the first of an empty file", "", {}, own],
    [
      "goes after the last line that matches",
      "a=1\na=2\nb\n",
      { insert_after: "a=*" },
      `a=1\na=2\n${own}b\n`,
    ],
    [
      "goes before the first line that matches",
      "x\na=1\na=2\n",
      { insert_before: "a=*" },
      `x\n${own}a=1\na=2\n`,
    ],
    [
      "goes after the first line where that alone matches",
      "a=1\nb\n",
      { insert_after: "a=*" },
      `a=1\n${own}b\n`,
    ],
    ["goes to the begin", "x\ny\n", { insert_before: "*" }, `${own}x\ny\n`],
    ["goes to the end where nothing matches", "x\n", { insert_before: "a=*" }, `x\n${own}`],
    [
      "has the marks that were asked for",
      "",
      { marker: "<!-- {mark} -->", name: "nav" },
      "<!-- BEGIN nav -->\nin\n<!-- END nav -->\n",
    ],
    [
      "has the name wherever its marks are to say it",
      "",
      { marker: "# {mark} #{mark}", name: "nav" },
      "# BEGIN nav #BEGIN nav\nin\n# END nav #END nav\n",
    ],
  ])("%s", async (_name, before, more, after) => {
    const { state, text } = await apply(before, more);
    expect(text).toBe(after);
    expect(outcomes(await state.run("apply", block(more)))).toEqual(["b unchanged"]);
  });
});

test("a block stays where it stands, wherever a new one would go", async () => {
  const { text } = await apply("# BEGIN block\nold\n# END block\na=1\n", { insert_after: "a=*" });
  expect(text).toBe("# BEGIN block\nin\n# END block\na=1\n");
});

test("a block at the end of a file without a last line break stays so", async () => {
  const { text } = await apply("x\n# BEGIN block\nold\n# END block");
  expect(text).toBe("x\n# BEGIN block\nin\n# END block");
});

/** How a file stands, what somebody makes of it while the block is ours, and what is left of it after the removal. */
const standing: Record<string, [before: string, edit?: (text: string) => string, after?: string]> = {
  "no block": ["x\ny\n"],
  "no block and no last line break": ["x\ny"],
  "a block with nothing in it": ["x\n# BEGIN block\n# END block\ny\n"],
  "a block at the end without a last line break": ["x\n# BEGIN block\nold\n# END block"],
  "a block alone without a last line break": ["# BEGIN block\nold\n# END block"],
  "a block before a line without a line break": ["# BEGIN block\nold\n# END block\nx"],
  "a block among lines with other line breaks": ["x\r\n# BEGIN block\nold\n# END block\ny\r\n"],
  "a block with other line breaks": ["x\n# BEGIN block\r\nold\r\n# END block\r\ny\n"],
  "a block of which one line has another line break": ["x\n# BEGIN block\nold\r\n# END block\ny\n"],
  "a block at the end, behind which somebody writes": [
    "x\n# BEGIN block\nold\n# END block",
    (text) => `${text}${text.endsWith("\n") ? "" : "\n"}z\n`,
    "x\n# BEGIN block\nold\n# END block\nz\n",
  ],
  "a block with other line breaks, which somebody gives to all of the file": [
    "x\n# BEGIN block\r\nold\n# END block\r\ny\n",
    (text) => text.replace(/\r?\n/g, "\r\n"),
    "x\r\n# BEGIN block\r\nold\r\n# END block\r\ny\r\n",
  ],
};

test.each(Object.entries(standing))("%s comes back to the letter", async (_what, [before, edit, after]) => {
  for (const more of before.includes("BEGIN") ? [{}, { ensure: "absent" }] : [{}]) {
    const { state, text } = await apply(before, more);
    expect(text).not.toBe(before);
    expect(outcomes(await state.run("apply", block(more)))).toEqual(["b unchanged"]);
    if (edit) state.write(path, edit(state.read(path)));
    expect(outcomes(await state.run("apply", []))).toEqual(["b changed"]);
    expect(state.read(path)).toBe(after ?? before);
  }
});

test.each(["old\n", ""])(
  "a block with %j that stood in a file which somebody took away does not make it again",
  async (old) => {
    const { state } = await apply(`x\n# BEGIN block\n${old}# END block\n`);
    state.host.files.removeFile(path);
    expect(outcomes(await state.run("apply", []))).toEqual(["b unchanged"]);
    expect(state.host.files.stat(path)).toBeNull();
  },
);

test("two blocks of one file know nothing of each other", async () => {
  const state = new StateFixture();
  state.write(path, "x\n");
  const desired = [...block({ id: "a", name: "a" }), ...block({ id: "b", name: "b", content: "other" })];
  expect((await state.run("apply", desired)).status).toBe("succeeded");
  await state.run("apply", block({ id: "b", name: "b", content: "other" }));
  expect(state.read(path)).toBe("x\n# BEGIN b\nother\n# END b\n");
});

test.each([
  ["an end without a begin", "# END block\n"],
  ["a begin without an end", "# BEGIN block\nx\n"],
  ["an end before the begin", "# END block\n# BEGIN block\n"],
  ["an end too many", "# BEGIN block\nx\n# END block\ny\n# END block\n"],
  ["a begin too many", "# BEGIN block\n# BEGIN block\nx\n# END block\n"],
  ["two blocks of one name", "# BEGIN block\n# END block\n# BEGIN block\n# END block\n"],
])("%s is a failure, and the file is left", async (_name, before) => {
  const { result, text } = await apply(before);
  expect(result).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  expect(text).toBe(before);
});

test("what comes or goes with a block is named so, with a diff", async () => {
  const { result, state } = await apply("x\n");
  expect(result).toMatchObject({
    action: "create",
    changes: [{ property: "content", before: null, after: "in\n" }],
  });
  expect(result?.changes[0]?.diff).toContain("+# BEGIN block\n+in\n+# END block");
  expect((await state.run("plan", block({ content: "out" }))).results[0]).toMatchObject({ action: "update" });
  expect((await state.run("plan", block({ ensure: "absent" }))).results[0]).toMatchObject({
    action: "remove",
  });
});

test("a file that is not there is an error of the apply without create", async () => {
  const run = await new StateFixture().run("apply", block());
  expect(run.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
});

test.each([
  { content: undefined },
  { content: "a\n# END block\n" },
  { marker: "no mark" },
  { marker: "two\n{mark}" },
  { name: "a b" },
  { insert_after: "a", insert_before: "b" },
])("%j is a fault", (more) => {
  expect(() => block(more)).toThrow();
});

test("the marks of a block are none of its lines, whatever ends them", () => {
  const definition = { type: "block", path: "/f", content: "# BEGIN block\r\nx\r\n# END block\r\n" };
  expect(resolveResource(definition, { module: "m" })).toMatchObject({
    ok: false,
    issues: [{ path: ["content"], message: "must not hold the marks of its block" }],
  });
});

describe("a block whose later version has another marker", () => {
  const marked = (marker: string) => block({ name: "n", marker });

  test("is made where somebody broke the marks of the first", async () => {
    const state = new StateFixture();
    state.write(path, "x\n");
    await state.run("apply", marked("# {mark}"));
    state.write(path, state.read(path).replace("# END n\n", ""));
    expect(outcomes(await state.run("plan", marked("; {mark}")))).toEqual(["b would_change"]);
    expect(outcomes(await state.run("apply", marked("; {mark}")))).toEqual(["b changed"]);
    expect(state.read(path)).toContain("; BEGIN n\nin\n; END n\n");
  });

  test("goes with its removal where somebody gave the first the new marks by hand", async () => {
    const state = new StateFixture();
    state.write(path, "x\n");
    await state.run("apply", marked("# {mark}"));
    state.write(path, state.read(path).replaceAll("# ", "; "));
    await state.run("apply", block({ name: "n", marker: "; {mark}", content: "more\n" }));
    await state.run("apply", []);
    expect(state.read(path)).toBe("x\n");
  });
});
