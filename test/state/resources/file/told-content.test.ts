/** What is told of a content: of what stands by then, with a diff up to a size, and with the other names of a file that a new one takes the place of. */
import { chownSync, linkSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Host } from "../../../../lib/host/host.ts";
import { LocalHost } from "../../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../../lib/json.ts";
import { addKept } from "../../../../lib/state/resources/directory/content.ts";
import { fileResourceType, fileSchema, type FileSpec } from "../../../../lib/state/resources/file.ts";
import type { Change } from "../../../../lib/state/result.ts";
import { memoryHost, text } from "../../../support/laws.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const { signal } = new AbortController();
const path = "/work/file";
const specOf = (more: JsonObject): FileSpec => fileSchema.parse({ path, ...more });
const check = async (spec: FileSpec, host: Host): Promise<Change[]> =>
  fileResourceType.check(spec, host, signal);

test("a second look tells of what stands by then", async () => {
  const host = memoryHost();
  const spec = specOf({ content: "ours\n" });
  const look = async () => {
    const [content] = await check(spec, host);
    return [content?.before, content?.diff];
  };
  host.files.writeFile(path, text("one\n"), {});
  const first = await look();
  host.files.writeFile(path, text("other\n"), {});
  const second = await look();
  expect(first).toEqual([expect.stringContaining("(4 bytes)"), expect.stringContaining("-one")]);
  expect(second).toEqual([expect.stringContaining("(6 bytes)"), expect.stringContaining("-other")]);
});

const most = 262_144;
const longText = (bytes: number): string => "x".repeat(bytes - 1) + "\n";

test.each([
  [most, 1, true],
  [most + 1, 1, false],
  [1, most, true],
  [1, most + 1, false],
])("a content of %i bytes in the place of %i has a diff: %s", async (wanted, standing, hasDiff) => {
  const host = memoryHost();
  host.files.writeFile(path, text(longText(standing)), {});
  const [change] = await check(specOf({ content: longText(wanted) }), host);
  expect([change?.property, change?.diff !== undefined]).toEqual(["content", hasDiff]);
});

test.each([
  [most, true],
  [most + 1, false],
])("a content of %i bytes that comes back has a diff: %s", async (bytes, hasDiff) => {
  const host = memoryHost();
  host.files.writeFile(path, text(longText(bytes)), {});
  const prior = await fileResourceType.capture(specOf({ content: "ours" }), host, signal);
  host.files.writeFile(path, text("ours"), {});
  const spec = fileResourceType.removing?.priorSchema?.parse(prior?.spec);
  const [change] = await check(spec!, host);
  expect([change?.property, change?.diff !== undefined]).toEqual(["content", hasDiff]);
});

test.skipIf(process.getuid?.() !== 0).each([
  [0, "nobody-yet", false],
  [33, "nobody-yet", true],
])(
  "a file of %i with another name, for %s who comes with the run, is told to be a new one: %s",
  async (uid, owner, isNew) => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "root/work"), { recursive: true });
    const host = new LocalHost({ root: join(folder, "root"), stateFolder: join(folder, "state") });
    host.files.writeFile(path, text("ours"), { mode: 0o644 });
    linkSync(join(folder, "root", path), join(folder, "root/work/other"));
    chownSync(join(folder, "root", path), uid, uid);
    const told = (await check(specOf({ content: "ours", owner }), host)).map(({ property }) => property);
    expect(told).toEqual(isNew ? ["hard_links", "owner"] : ["owner"]);
  },
);

test("what was in a folder is noted in an order in which each folder comes before what is in it, and as much as fits", () => {
  const entry = (name: string) => ({ path: `/d/${name}`, kind: "file" as const, mode: "0644" });
  const paths = (found: readonly { path: string }[]) => found.map((each) => each.path);
  const first = addKept([entry("b")], [entry("a/c"), entry("a"), entry("z")], 4);
  expect(paths(first)).toEqual(["/d/a", "/d/a/c", "/d/b", "/d/z"]);
  expect(paths(addKept(first, [entry("c")], 4))).toEqual(paths(first));
  expect(paths(addKept(first, [entry("c")], 5))).toContain("/d/c");
});
