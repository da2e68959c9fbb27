import { expect, test } from "vitest";
import type { FolderKind } from "fleetwright";
import { namesFor } from "../../../adapters/sync/folder-names.ts";

interface Thing {
  name: string;
  managed?: readonly [label: string, name: string];
}

/** The names of things, the oldest first, in a folder of the label "ours". */
function namesOf(kind: FolderKind, things: readonly Thing[]): string[] {
  const present = things.map(({ name, managed }, at) => ({
    kind,
    id: String(at),
    name,
    managedBy: managed === undefined ? null : { label: managed[0], name: managed[1] },
  }));
  const named = namesFor(present as unknown as Parameters<typeof namesFor>[0], "ours");
  return present.map(({ id }) => named.find(({ thing }) => thing.id === id)!.name);
}

test.each<[string, Thing[], string[]]>([
  ["what people call it", [{ name: "Disk full!" }], ["disk-full"]],
  ["its kind where nothing is left of that", [{ name: "你好" }, { name: "..." }], ["window", "window-2"]],
  [
    "one of its own where two are called alike",
    [{ name: "a b" }, { name: "A-B" }, { name: "a.b" }],
    ["a-b", "a-b-2", "a-b-3"],
  ],
  ["that of the folder", [{ name: "x", managed: ["ours", "Night"] }], ["Night"]],
  [
    "another than the folder has in another case",
    [{ name: "night" }, { name: "x", managed: ["ours", "Night"] }],
    ["night-2", "Night"],
  ],
  [
    "that of another folder, as far as it is free",
    [
      { name: "x", managed: ["theirs", "Night"] },
      { name: "y", managed: ["ours", "night"] },
    ],
    ["night-2", "night"],
  ],
  [
    "no more than 48 letters, and no dash at its end",
    [{ name: `${"a".repeat(47)} b` }, { name: "c".repeat(60) }],
    ["a".repeat(47), "c".repeat(48)],
  ],
])("a thing is given %s", (_, things, names) => expect(namesOf("windows", things)).toEqual(names));

test.each(["modules", "assignments", "operators"] as const)("%s keep their own names", (kind) => {
  const things: Thing[] = [{ name: "Web" }, { name: "web", managed: ["theirs", "other"] }];
  expect(namesOf(kind, things)).toEqual(["Web", "web"]);
});
