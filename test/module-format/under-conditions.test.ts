/** Resources that certainly meet on some agent are judged when a module is uploaded, in whatever order their conditions stand. */
import { expect, test } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { finish } from "../../lib/internal/work.ts";
import { parseModule, readModule } from "../../lib/module-format/module-document.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";

type Condition = "" | "x" | "y";
const conditions: readonly Condition[] = ["", "x", "y"];
const orders = conditions.flatMap((a) =>
  conditions.flatMap((b) => conditions.flatMap((c) => conditions.map((d) => [a, b, c, d]))),
);

function faultsOf(resources: readonly string[]): string[] {
  try {
    parseModule(`name: web\nresources:\n${resources.map((each) => `  - { ${each} }\n`).join("")}`);
    return [];
  } catch (error) {
    if (!isOrchestratorError(error)) throw error;
    return error.issues.map(({ line, message }) => `${line} ${message}`);
  }
}

const when = (condition: Condition): string => (condition === "" ? "" : `, when: ${condition}`);

/** The place of one that is wanted where `condition` holds: with the same condition, or without any. */
function meetingOf(others: readonly Condition[], condition: Condition): number {
  if (condition === "") return others.length > 0 ? 0 : -1;
  const same = others.indexOf(condition);
  return same === -1 ? others.indexOf("") : same;
}

test.each(orders)("one thing under %j, %j, %j and %j is refused each time it meets itself", (...order) => {
  const resources = order.map((each, at) => `id: r${at}, type: directory, path: /a${when(each)}`);
  const expected = order.flatMap((each, at) => {
    const first = meetingOf(order.slice(0, at), each);
    return first === -1 ? [] : [`${3 + at} The directory /a is declared on line ${3 + first} too.`];
  });
  expect(faultsOf(resources)).toEqual(expected);
});

test.each(orders)("folders gone under %j and %j, and what is wanted in them under %j and %j", (...order) => {
  const [outer, inner, ...wanted] = order;
  const resources = [
    `id: outer, type: directory, path: /a, ensure: absent${when(outer!)}`,
    `id: inner, type: directory, path: /a/b, ensure: absent${when(inner!)}`,
    ...wanted.map((each, at) => `id: w${at}, type: file, path: /a/b/c${at}${when(each)}`),
  ];
  const expected = wanted.flatMap((each, at) => {
    const [folder, line] =
      meetingOf([outer!], each) === 0 ? ["/a", 3] : meetingOf([inner!], each) === 0 ? ["/a/b", 4] : [null, 0];
    return folder === null
      ? []
      : [`${5 + at} This is in ${folder}, which the resource on line ${line} has gone.`];
  });
  expect(faultsOf(resources)).toEqual(expected);
});

test("what was taken in once is read again as it is: an earlier version saw less", () => {
  const resources = ["x", "y", "y"].map(
    (each, at) => `  - { id: r${at}, type: directory, path: /a, when: ${each} }\n`,
  );
  const text = `name: web\nresources:\n${resources.join("")}`;
  expect(() => finish(readModule(text, resourceTypes))).toThrow();
  expect(finish(readModule(text, resourceTypes, true)).resources).toHaveLength(3);
  // What can't be read at all is told in any case.
  expect(() => finish(readModule(`${text}  - { type: teapot }\n`, resourceTypes, true))).toThrow();
});
