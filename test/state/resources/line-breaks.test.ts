/** What is added to a text ends as most of its lines do, whichever of them have a line break; and nothing else is another. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const breaks = ["\n", "\r\n"];

/** Every text of up to four lines with these breaks, each also without a break at its end. */
const texts: readonly string[] = [1, 2, 3, 4].flatMap((lines) =>
  Array.from({ length: 2 ** lines }, (_, bits) => {
    const ends = Array.from({ length: lines }, (_line, at) => breaks[(bits >> at) & 1]!);
    const whole = ends.map((end, at) => `${at}${end}`).join("");
    return [whole, whole.replace(/\r?\n$/, "")];
  }).flat(),
);

const mostOf = (text: string): string => {
  const dos = text.split("\r\n").length - 1;
  return dos * 2 > text.split("\n").length - 1 ? "\r\n" : "\n";
};

/** What adds to the end of a text, with the lines that it adds. */
const added: Readonly<Record<string, { resource: JsonObject; lines: readonly string[] }>> = {
  line: { resource: { type: "line", path: "/conf", line: "new" }, lines: ["new"] },
  block: {
    resource: { type: "block", path: "/conf", name: "own", content: "one\ntwo" },
    lines: ["# BEGIN own", "one", "two", "# END own"],
  },
};

test.each(Object.entries(added))(
  "a %s ends as most lines do, and goes without a trace",
  async (_type, { resource, lines }) => {
    for (const text of texts) {
      const state = new StateFixture(wholeMachine());
      state.write("/conf", text);
      const [own] = declare([{ id: "own", ...resource }]);
      await state.run("apply", [own!]);
      const lineBreak = mostOf(text);
      const before = text.endsWith("\n") ? text : text + lineBreak;
      expect(state.read("/conf"), JSON.stringify(text)).toBe(
        before + lines.map((line) => line + lineBreak).join(""),
      );
      await state.run("apply", []);
      expect(state.read("/conf"), JSON.stringify(text)).toBe(text);
    }
  },
);
