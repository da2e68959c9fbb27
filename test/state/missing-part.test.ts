import { describe, expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import { hostError } from "../../lib/host/host-error.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { nameMissing } from "../../lib/state/run/missing-part.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const conf = { id: "conf", type: "file", path: "/srv/tool/etc/conf", content: "x" };

/** A machine where "/srv/gone" leads to what is not there, and "/srv/link" to a folder. */
function machine(): MemoryHost {
  const host = new MemoryHost();
  for (const folder of ["/srv", "/data"]) host.files.makeDirectory(folder, { mode: 0o755 });
  host.files.makeSymlink("/srv/gone", "../disk/site");
  host.files.makeSymlink("/srv/link", "/data");
  host.files.makeSymlink("/srv/again", "gone");
  return host;
}

/** A run with one resource. */
function alone() {
  const desired = declare([conf]);
  return { resource: desired[0]!, run: { desired, types: resourceTypes, mode: "apply" as const } };
}

test.each([
  ["/srv/site/a/b", "missing: /srv/site"],
  ["/srv/gone/a", "missing: /disk"],
  ["/srv/again/a", "missing: /disk"],
  ["/srv/link/a/b", "missing: /srv/link/a"],
])("what is missing for %s is what somebody has to make", (path, message) => {
  const named = nameMissing(hostError(path, "ENOENT"), machine(), alone());
  expect(named).toMatchObject({ code: "HOST_ERROR", message });
});

const { details } = hostError("/srv/site/a", "ENOENT");

test.each<[what: string, error: unknown]>([
  ["itself", hostError("/srv/site", "ENOENT")],
  ["nothing any more", hostError("/srv/link", "ENOENT")],
  ["what the link leads to that is asked for", hostError("/srv/gone", "ENOENT")],
  ["what is behind links in a circle", hostError("/srv/circle/a", "ENOENT")],
  ["what is named from elsewhere", hostError("srv/site/a", "ENOENT")],
  ["nothing: it is refused", hostError("/srv/site/a", "EACCES")],
  ["something to a program", new OrchestratorError("COMMAND_FAILED", { details })],
  ["something, as somebody else says", Object.assign(new Error("no"), { details })],
])("where what is missing is %s, that is told as it was", (_what, error) => {
  const host = machine();
  host.files.makeSymlink("/srv/circle", "circle");
  expect(nameMissing(error, host, alone())).toBe(error);
});

/** What is told of `conf`, which comes before what others declare. */
async function told(
  mode: RunMode,
  own: JsonObject[],
  others: JsonObject[] = [],
): Promise<string | undefined> {
  const fixture = new StateFixture();
  fixture.host.files.makeDirectory("/srv", {});
  const desired = [...declare([conf, ...own], "site"), ...declare(others, "tool")];
  const { results } = await fixture.run(mode, desired);
  return results.find((each) => each.resource_id === "conf")?.message;
}

describe("what is missing and is made by a later resource", () => {
  const missing = "missing: /srv/tool";
  const folder = { id: "box", type: "directory", path: "/srv/tool" };
  const inBox = "missing: /srv/tool (made by box: add it to requires)";

  test.each<RunMode>(["plan", "apply"])("is told with who makes it by a %s", async (mode) => {
    expect(await told(mode, [folder])).toBe(inBox);
    expect(await told(mode, [], [folder])).toBe(
      "missing: /srv/tool (made by tool/box: let module site require tool)",
    );
  });

  const sourced = { id: "box", path: "/srv/tool", source: "/nowhere.tar" };
  test.each<[what: string, own: JsonObject, message: string]>([
    ["the folder", folder, inBox],
    ["a folder on the way, which needs it, too", { ...folder, path: "/srv/tool/etc" }, missing],
    ["what is about the same path", { ...conf, id: "box" }, missing],
    ["what waits for it", { ...folder, requires: ["conf"] }, missing],
    [
      "what watches it",
      { id: "box", type: "script", run: "true", creates: "/srv/tool", run_on: ["conf"] },
      missing,
    ],
    ["an archive", { ...sourced, type: "archive" }, inBox],
    ["a clone", { id: "box", type: "git", path: "/srv/tool", repository: "/nowhere" }, inBox],
    ["a link", { id: "box", type: "symlink", path: "/srv/tool", target: "/data" }, inBox],
    ["a script", { id: "box", type: "script", run: "true", creates: "/srv/tool" }, inBox],
    ["a file in another folder", { id: "box", type: "file", path: "/srv/tools", content: "x" }, missing],
    ["a folder beside the way", { ...folder, path: "/srv/tool/bin" }, missing],
    ["a part of a file", { id: "box", type: "line", path: "/srv/tool", line: "x" }, missing],
    [
      "a mount, which needs the folder",
      { id: "box", type: "mount", path: "/srv/tool", device: "/dev/x", fstype: "ext4" },
      missing,
    ],
  ])("where that is %s", async (_what, own, message) => {
    expect(await told("apply", [own])).toBe(message);
  });

  test("is not told of what is to be absent", () => {
    const message = (ensure: "present" | "absent"): unknown => {
      const desired = declare([conf, { ...folder, ensure }]);
      const error = hostError("/srv/tool/etc/conf", "ENOENT");
      return nameMissing(error, machine(), {
        resource: desired[0]!,
        run: { desired, types: resourceTypes, mode: "apply" as const },
      });
    };
    expect(message("present")).toMatchObject({ message: inBox });
    expect(message("absent")).toMatchObject({ message: missing });
  });

  test("is not told to what is taken away, which comes first and can wait for nothing", () => {
    const [resource, box] = declare([conf, folder]);
    const within = {
      resource: resource!,
      run: { desired: [box!], types: resourceTypes, mode: "apply" as const },
    };
    const named = nameMissing(hostError("/srv/tool/etc/conf", "ENOENT"), machine(), within);
    expect(named).toMatchObject({ message: missing });
  });

  test("is not told of what is skipped", async () => {
    const fixture = new StateFixture();
    fixture.host.files.makeDirectory("/srv", {});
    const [first, box] = declare([conf, folder]);
    const { results } = await fixture.run("apply", [first!, { ...box!, skip: "condition" }]);
    expect(results[0]).toMatchObject({ outcome: "failed", message: missing });
  });

  test("is told of no module that waits for this one, or for which this one waits", async () => {
    const [first] = declare([conf], "site");
    const [box] = declare([folder], "tool");
    const message = async (own: object, other: object): Promise<unknown> => {
      const fixture = new StateFixture();
      fixture.host.files.makeDirectory("/srv", {});
      const { results } = await fixture.run("apply", [
        { ...first!, ...own },
        { ...box!, ...other },
      ]);
      return results[0]?.message;
    };
    expect(await message({}, {})).toMatch(/let module site require tool/);
    expect(await message({}, { requires_modules: ["site"] })).toBe(missing);
    expect(await message({ requires_modules: ["tool"] }, {})).toBe(missing);
    // What else they require says nothing of each other.
    expect(await message({ requires_modules: ["base"] }, {})).toMatch(/let module site require tool/);
  });

  test("is told of no resource for which it waits already, by others, and not by a drift check", () => {
    const message = (mode: RunMode, own: JsonObject): unknown => {
      const desired = declare([
        { ...conf, ...own },
        { id: "y", type: "script", run: "true", creates: "/y", requires: ["box"] },
        folder,
      ]);
      const run = { desired, types: resourceTypes, mode };
      return nameMissing(hostError("/srv/tool/etc/conf", "ENOENT"), machine(), {
        resource: desired[0]!,
        run,
      });
    };
    expect(message("apply", {})).toMatchObject({ message: inBox });
    expect(message("apply", { requires: ["y"] })).toMatchObject({ message: missing });
    expect(message("check", {})).toMatchObject({ message: missing });
  });

  test("is there once it is required", async () => {
    const fixture = new StateFixture();
    fixture.host.files.makeDirectory("/srv", {});
    const resources = [
      { ...conf, requires: ["etc"] },
      folder,
      { ...folder, id: "etc", path: "/srv/tool/etc", requires: ["box"] },
    ];
    const { results } = await fixture.run("apply", declare(resources));
    expect(results.map(({ resource_id, outcome }) => [resource_id, outcome])).toEqual([
      ["box", "changed"],
      ["etc", "changed"],
      ["conf", "changed"],
    ]);
  });
});
