/** Which of the resources before it a resource waits for: too few, and a plan says what the apply does not do; too many, and it says nothing. */
import { describe, expect, test } from "vitest";
import { OrchestratorError } from "fleetwright";
import type { JsonObject } from "../../../lib/json.ts";
import { type Bringer, Bringers, type Resting } from "../../../lib/state/foreseen/bringers.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import { declare } from "../../support/state-fixture.ts";

const resource = (id: string, { module = "m", requires = [] as string[] } = {}): ResolvedResource => {
  const [resolved] = declare([{ id, type: "file", path: `/files/${id}`, requires }], module);
  return resolved!;
};
const bringer = (more: Partial<Bringer> = {}): Bringer => {
  return { resource: resource("before"), below: null, paths: [], isRemoval: false, until: null, ...more };
};
const bringers = (...all: readonly Bringer[]): Bringers => {
  const made = new Bringers();
  for (const each of all) made.add(each);
  return made;
};
const nothing: Resting = {
  hasLookedBelow: () => false,
  isAbsent: false,
  places: [],
  isInVain: false,
  about: [],
};
const later = resource("later");

describe("what rests on a place waits for what", () => {
  test.each<[string, string, Partial<Bringer>, boolean]>([
    ["brings a folder", "/srv/site", { below: "/srv/site" }, true],
    ["brings the folder above", "/srv/site/conf", { below: "/srv/site" }, true],
    ["brings a folder in it", "/srv", { below: "/srv/site" }, true],
    ["does not bring a folder whose name begins so", "/srv/sites", { below: "/srv/site" }, false],
    ["does not bring a folder with which its name begins", "/srv/sit", { below: "/srv/site" }, false],
    ["makes a file in it", "/etc/web.d", { paths: ["/etc/web.d/a"] }, true],
    ["makes the file itself", "/etc/web.d/a", { paths: ["/etc/web.d/a"] }, true],
    [
      "does not make a file where the name of its folder begins so",
      "/etc/web",
      { paths: ["/etc/web.d/a"] },
      false,
    ],
    ["may bring anything, and does not say that it is there", "/srv", { below: "/" }, false],
  ])("%s: %s", (_, place, more, waits) => {
    const resting = { ...nothing, places: [place] };
    expect(bringers(bringer(more)).restedOn(later, resting, false)).toBe(waits ? "m/before" : null);
  });

  test.each<[string, Partial<Bringer>, boolean]>([
    ["may bring anything, in its module", { below: "/" }, true],
    ["fills a folder, in its module", { below: "/srv" }, true],
    [
      "may bring anything, in a module that its own requires",
      { resource: resource("a", { module: "base" }), below: "/" },
      true,
    ],
    [
      "has nothing to do with its module",
      { resource: resource("a", { module: "other" }), below: "/" },
      false,
    ],
    ["brings nothing that is not known", { paths: ["/srv/x"] }, false],
    ["goes away", { below: "/", isRemoval: true }, false],
  ])("nobody knows, if it %s", (_, more, waits) => {
    const before = bringer(more);
    const asking = { ...later, requires_modules: ["base"] };
    const key = `${before.resource.module}/${before.resource.resource_id}`;
    expect(bringers(before).restedOn(asking, { ...nothing, places: ["/"] }, false)).toBe(waits ? key : null);
  });
});

describe("a resource that names what comes before", () => {
  const [one, two] = ["one", "two"].map((id) => bringer({ resource: resource(id), below: "/" }));

  test("waits for the last that it names, and not for one of that name in another module", () => {
    const both = resource("later", { requires: ["one", "two"] });
    const other = bringer({ resource: resource("one", { module: "other" }), below: "/" });
    expect(bringers(one!, two!, other).restedOn(both, nothing, false)).toBe("m/two");
    expect(bringers(other).restedOn(resource("later", { requires: ["one"] }), nothing, false)).toBeNull();
  });

  test("waits for nothing where it is taken away itself", () => {
    const named = resource("later", { requires: ["one"] });
    expect(bringers(one!).restedOn(named, nothing, true)).toBeNull();
    expect(bringers(one!).restedOn(named, nothing, false)).toBe("m/one");
  });
});

test("an answer that counts for nothing has a resource wait only where it rests on what nobody knows", () => {
  const before = bringers(bringer({ paths: ["/srv/x"] }));
  expect(before.restedOn(later, { ...nothing, isInVain: true, places: ["/"] }, false)).toBe("m/before");
  expect(before.restedOn(later, { ...nothing, isInVain: true, places: ["/etc"] }, false)).toBeNull();
  expect(before.restedOn(later, { ...nothing, isInVain: true }, false)).toBeNull();
});

test.each([
  ["an account", "one", "m/one"],
  ["what stands in a folder", "/srv/site/conf", "m/site"],
  ["a file by its name", "web.service", "m/unit"],
  ["nobody knows what", "other", "m/last"],
])("of several, a program that asked in vain about %s waits for what brings it", (_, word, key) => {
  const account = { ...resource("one"), type: "user", identity: "one" };
  const before = bringers(
    bringer({ resource: account, paths: ["/etc/passwd"] }),
    bringer({ resource: resource("two"), paths: ["/etc/passwd"] }),
    bringer({ resource: resource("site"), paths: ["/srv/site"] }),
    bringer({ resource: resource("unit"), paths: ["/etc/systemd/system/web.service"] }),
    bringer({ resource: resource("root"), paths: ["/"] }),
    bringer({ resource: resource("last"), paths: ["/etc/motd"] }),
  );
  const error = new OrchestratorError("COMMAND_FAILED");
  expect(before.wantedFor(later, error, { isInVain: true, about: [word], places: [] })).toBe(key);
  const resting = { ...nothing, isInVain: true, about: [word], places: ["/"] };
  expect(before.restedOn(later, resting, false)).toBe(key);
});

describe("what failed waits", () => {
  const failed = (details: JsonObject, code: "HOST_ERROR" | "COMMAND_FAILED" = "HOST_ERROR") =>
    new OrchestratorError(code, { details });

  test.each<[string, OrchestratorError, string | null, boolean]>([
    [
      "for a folder in which something is missing",
      failed({ errno: "ENOENT", path: "/srv/site/x" }),
      "/srv/site",
      true,
    ],
    ["for no folder beside it", failed({ errno: "ENOENT", path: "/srv/sites/x" }), "/srv/site", false],
    ["for a disk that may be mounted anew", failed({ errno: "EROFS", path: "/srv/x" }), "/", true],
    ["for what a type says is missing", failed({ missing: true }), "/", true],
    ["for nothing where something is in the way", failed({ errno: "EACCES", path: "/srv/x" }), "/", false],
    ["for what may bring a program", failed({}, "COMMAND_FAILED"), "/", true],
    ["for no folder where a program failed", failed({}, "COMMAND_FAILED"), "/srv", false],
    ["for nothing that brings only what is known", failed({}, "COMMAND_FAILED"), null, false],
  ])("%s", (_, error, below, waits) => {
    const given = { isInVain: false, about: [], places: [] };
    expect(bringers(bringer({ below })).wantedFor(later, error, given)).toBe(waits ? "m/before" : null);
  });
});
