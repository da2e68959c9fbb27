/** A removal takes back what is ours and keeps what others did to the file meanwhile. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const path = "/etc/hosts";
const line = { type: "line", path };
const block = { type: "block", path };
const entry = { type: "host_entry", name: "db", ip: "10.0.0.5" };
const more = (text: string): string => text.replace("b\n", "b\nnew\n");
const addTop = (text: string): string => `top\n${text}`;
const addEnd = (text: string): string => `${text}end\n`;
const dropFirst = (text: string): string => text.slice(text.indexOf("\n") + 1);
const dropOurs = (text: string): string => text.replace("ours\n", "");
const toCrlf = (text: string): string => text.replaceAll("\n", "\r\n");

type Row = [what: string, first: JsonObject, before: string, edit: (text: string) => string, after: string];

const rows: Row[] = [
  ["a new line", { ...line, line: "ours" }, "a\nb\n", addEnd, "a\nb\nend\n"],
  ["a new line at an end without line break", { ...line, line: "ours" }, "a\nb", addEnd, "a\nb\nend\n"],
  ["a new line, others on top", { ...line, line: "ours" }, "a\nb", addTop, "top\na\nb"],
  ["a replaced line", { ...line, line: "ours", match: "old" }, "a\nold\nb\n", more, "a\nold\nb\nnew\n"],
  [
    "a replaced line that is gone",
    { ...line, line: "ours", match: "old" },
    "a\nold\nb\n",
    dropOurs,
    "a\nold\nb\n",
  ],
  [
    "equal replaced lines",
    { ...line, line: "ours", match: "old" },
    "old\na\nold\nb\n",
    more,
    "old\na\nold\nb\nnew\n",
  ],
  [
    "a line taken away",
    { ...line, line: "old", ensure: "absent" },
    "a\nold\nb\n",
    addTop,
    "top\na\nold\nb\n",
  ],
  [
    "the last line taken away",
    { ...line, line: "old", ensure: "absent" },
    "a\nb\nold",
    addEnd,
    "a\nb\nold\nend\n",
  ],
  [
    "the first line taken away",
    { ...line, line: "old", ensure: "absent" },
    "old\na\nb\n",
    more,
    "old\na\nb\nnew\n",
  ],
  [
    "a line whose neighbour went",
    { ...line, line: "old", ensure: "absent" },
    "x\na\nold\nb\n",
    dropFirst,
    "a\nold\nb\n",
  ],
  [
    "a line that somebody brought back",
    { ...line, line: "old", ensure: "absent" },
    "old\na\n",
    (text) => `${text}old\n`,
    "a\nold\n",
  ],
  [
    "equal lines taken away",
    { ...line, line: "old", ensure: "absent" },
    "old\na\nold\nold\nb\n",
    addTop,
    "top\nold\na\nold\nold\nb\n",
  ],
  [
    "a file that somebody gave CRLF",
    { ...line, line: "ours", match: "old" },
    "a\nold\n",
    toCrlf,
    "a\r\nold\r\n",
  ],
  ["a new block", { ...block, content: "ours" }, "a\nb", addTop, "top\na\nb"],
  [
    "a block taken away",
    { ...block, ensure: "absent" },
    "a\n# BEGIN block\nx\n# END block\nb\n",
    addTop,
    "top\na\n# BEGIN block\nx\n# END block\nb\n",
  ],
  [
    "a block with another content",
    { ...block, content: "ours" },
    "a\n# BEGIN block\nx\n# END block\nb\n",
    more,
    "a\n# BEGIN block\nx\n# END block\nb\nnew\n",
  ],
  ["a new host entry", entry, "1.1.1.1 a", addTop, "top\n1.1.1.1 a"],
  [
    "a host entry taken away",
    { ...entry, ensure: "absent" },
    "1.1.1.1 a\n10.0.0.5  db # x\n1.1.1.2 b\n",
    addTop,
    "top\n1.1.1.1 a\n10.0.0.5  db # x\n1.1.1.2 b\n",
  ],
];

test.each(rows)(
  "%s comes back, and what others wrote stays",
  async (_what, definition, before, edit, after) => {
    const state = new StateFixture();
    state.host.files.makeDirectory("/etc", {});
    state.write(path, before);
    const applied = await state.run("apply", declare([{ id: "r", ...definition }]));
    expect(applied.results).toMatchObject([{ outcome: "changed" }]);
    state.write(path, edit(state.read(path)));
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(state.read(path)).toBe(after);
  },
);

test("a line and a block of versions that differ go with all that they wrote", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/etc", {});
  state.write(path, "a\r\nold\r\nb");
  for (const version of ["1", "2", "3"]) {
    const { status } = await state.run(
      "apply",
      declare([
        { id: "l", ...line, line: `ours ${version}`, match: ["old", "ours *"] },
        { id: "b", ...block, content: version, marker: `#${version} {mark}` },
      ]),
    );
    expect(status).toBe("succeeded");
    expect(state.read(path).replaceAll("\r\n", "")).not.toContain("\n");
  }
  await state.run("apply", []);
  expect(state.read(path)).toBe("a\r\nold\r\nb");
});
