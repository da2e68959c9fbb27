/**
 * A link whose target is not UTF-8. Symptom: what stood before was noted with U+FFFD in place of such bytes, so a removal, a purge
 * that was taken back, and a move to another file system made a link to something else.
 */
import { readlinkSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { toShownTarget, toTargetBytes, toTargetText } from "../../lib/internal/link-target.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState } from "../../lib/state/run/engine.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const targets: [string, number[]][] = [
  ["Latin-1", [...Buffer.from("/srv/caf"), 0xe9]],
  ["a character that is cut off", [0x61, 0xe2, 0x82, 0x2f, 0x62]],
  ["a surrogate in UTF-8", [0xed, 0xb2, 0x80]],
  ["beside characters of every length", [0xff, ...Buffer.from("aé€😀"), 0x80]],
  ["every byte that stands for nothing by itself", Array.from({ length: 128 }, (_, at) => at + 0x80)],
  ["nothing but UTF-8", [...Buffer.from("aé€😀")]],
];

test.each(targets)("a target of %s is the same bytes again", (_what, bytes) => {
  const text: unknown = JSON.parse(JSON.stringify(toTargetText(Buffer.from(bytes))));
  expect([...toTargetBytes(String(text))]).toEqual(bytes);
});

test("the text of a target shows each character of it, and one in place of each byte that is none", () => {
  const text = toTargetText(Buffer.from([0xff, ...Buffer.from("aé€😀"), 0x80, 0xf0, 0x9f]));
  expect(text).toContain("aé€😀");
  expect(toShownTarget(text)).toBe("\ufffdaé€😀\ufffd\ufffd\ufffd");
});

test.each<[string, (folder: string) => JsonObject]>([
  ["another link", (folder) => ({ type: "symlink", path: join(folder, "link"), target: "elsewhere" })],
  ["a file", (folder) => ({ type: "file", path: join(folder, "link"), content: "x", force: true })],
  ["a folder that was purged", (folder) => ({ type: "directory", path: folder, purge: true })],
])("the link comes back when what took its place is removed: %s", async (_what, definition) => {
  const folder = join(temporaryFolder());
  const host = new LocalHost({ stateFolder: join(temporaryFolder(), "state") });
  const bytes = Buffer.from([0x61, 0xe9, 0x2f, 0x62]);
  symlinkSync(bytes, join(folder, "link"));
  const run = async (definitions: JsonObject[], applied: AppliedResource[]): Promise<AppliedResource[]> => {
    const { signal } = new AbortController();
    const desired = declare(definitions);
    const options = { desired, applied, host, clock: systemClock, signal, timeoutMs: 60_000 };
    const { status, results, applied: after } = await runState({ mode: "apply", ...options });
    expect(status, JSON.stringify(results)).toBe("succeeded");
    expect(JSON.stringify(results)).not.toContain("\\udc");
    return JSON.parse(JSON.stringify(after)) as AppliedResource[];
  };
  const applied = await run([{ id: "it", ...definition(folder) }], []);
  await run([], applied);
  expect(readlinkSync(join(folder, "link"), "buffer")).toEqual(bytes);
});

test("a time zone is set in place of such a link, which comes back", async () => {
  const state = new StateFixture();
  const { files } = state.host;
  for (const folder of ["/etc", "/usr", "/usr/share", "/usr/share/zoneinfo"]) files.makeDirectory(folder, {});
  state.write("/usr/share/zoneinfo/UTC", "");
  const target = toTargetText(Buffer.from([...Buffer.from("/usr/share/zoneinfo/caf"), 0xe9]));
  files.makeSymlink("/etc/localtime", target);
  const set = await state.run("apply", declare([{ type: "timezone", name: "UTC" }]));
  expect(set.status, JSON.stringify(set.results)).toBe("succeeded");
  expect(JSON.stringify(set.results)).not.toContain("\\udc");
  const removed = await state.run("apply", []);
  expect(removed.status, JSON.stringify(removed.results)).toBe("succeeded");
  expect(files.readLink("/etc/localtime")).toBe(target);
  expect((await state.run("plan", [])).results).toEqual([]);
});
