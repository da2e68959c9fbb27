/** The lists of CONTRIBUTING.md are whole: who follows them, and no more, has something that passes. */
import { expect, it } from "vitest";
import type { Places } from "./contributing/change.ts";
import { event } from "./contributing/event.ts";
import { resourceType } from "./contributing/resource-type.ts";
import { ownStorage } from "./contributing/storage.ts";
import { TreeCopy } from "./contributing/tree-copy.ts";
import { verb } from "./contributing/verb.ts";
import { readText } from "./source-tree.ts";

const lists: [title: string, count: string, example: Places][] = [
  ["a verb of a feature", "Seven", verb],
  ["an event", "Six", event],
  ["a resource type", "Six", resourceType],
  ["a storage", "Five", ownStorage],
];

it.each(lists)("the list of %s names each place of its example, and counts them", (title, count, example) => {
  const section = (readText("CONTRIBUTING.md") ?? "")
    .split(/^## /m)
    .find((each) => each.startsWith(`To add ${title}\n`))!;
  const places = [...section.matchAll(/^(\d+)\. \*\*(.+?)\*\*, `(.+?)`/gm)];
  expect(section).toContain(`\n\n${count} places`);
  expect(places.map(([, number, name]) => `${number} ${name}`)).toEqual(
    Object.keys(example).map((name, index) => `${index + 1} ${name}`),
  );
  for (const [, , name = "", path = ""] of places)
    expect(example[name]!.path, name).toMatch(new RegExp(`^${path.replaceAll(/<\w+>/g, "[a-z-]+")}$`));
});

/** Everything that complains where a place is missing, and the tests of the examples themselves. */
const complaining = [
  ...["boundaries", "docs", "doc-examples", "file-size", "from-router", "import-order", "words"].map(
    (name) => `test/architecture/${name}.test.ts`,
  ),
  "test/access/faces.test.ts",
  "test/adapters/access-matrix.test.ts",
  "test/adapters/permission-first.test.ts",
  "test/adapters/openapi.test.ts",
  "test/adapters/openapi-examples.test.ts",
  "test/adapters/client/verbs.test.ts",
  ...lists.flatMap(([, , { Test }]) => Test?.path ?? []),
];

const isAsked = process.env["FLEETWRIGHT_LISTS"] === "1";
if (!isAsked)
  console.info(
    "The lists of CONTRIBUTING.md are not followed, which takes minutes: set FLEETWRIGHT_LISTS=1.",
  );

it.skipIf(!isAsked)(
  "who follows the lists has a tree that compiles and passes",
  async () => {
    const copy = new TreeCopy();
    for (const [, , example] of lists) for (const change of Object.values(example)) copy.make(change);
    const run = async (...command: [string, ...string[]]): Promise<void> => {
      const { code, output } = await copy.run(...command);
      if (code !== 0) faults.push(`${command.join(" ")}\n${output}`);
    };
    const faults: string[] = [];
    await run("npm", "run", "generate");
    await Promise.all([run("tsc", "-p", "."), run("vitest", "run", ...complaining)]);
    await Promise.all([run("oxlint", "--deny-warnings"), run("prettier", "--check", "."), run("knip")]);
    expect(faults.join("\n\n")).toBe("");
  },
  900_000,
);
