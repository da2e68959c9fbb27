/** What is told of packages and of what happens to others, down to which of several versions and how many names. */
import { expect, test } from "vitest";
import { parseBrewInfo } from "../../../../lib/state/resources/package/brew.ts";
import { refuseUntold } from "../../../../lib/state/resources/package/foretell.ts";
import { notInstalled } from "../../../../lib/state/resources/package/provider.ts";
import { findDifferences, toChanges } from "../../../../lib/state/resources/package/wanted.ts";

const formula = {
  name: "docker",
  full_name: "docker",
  aliases: [],
  versions: { stable: "27.1" },
  revision: 0,
  pinned: false,
  installed: [{ version: "26.0" }, { version: "27.0" }],
};
const cask = { token: "docker", full_token: "homebrew/cask/docker", version: "4.3", installed: null };

test("of a formula that stands in several versions the last counts, and a cask of its name goes by its full one", () => {
  const found = parseBrewInfo(JSON.stringify({ formulae: [formula], casks: [cask] }));
  expect(found.get("docker")).toMatchObject({ state: { version: "27.0" }, candidate: "27.1" });
  expect(found.get("homebrew/cask/docker")).toMatchObject({ state: { version: null }, candidate: "4.3" });
});

test.each([
  ["1.2*", "1.2*"],
  ["1.2-3", "1.2-3"],
])("a new package of the version %s is told with it", (version, after) => {
  const wanted = { name: "nginx", ensure: "present" as const, version };
  expect(toChanges(findDifferences([wanted], [notInstalled], [null]), "nginx")).toEqual([
    { property: "ensure", before: "absent", after: "present" },
    { property: "version", before: null, after },
  ]);
});

test.each([1, 10, 11])("of %i packages that would go untold at most ten are named", (count) => {
  const removes = Array.from({ length: count }, (_, at) => `lib${at}`);
  const named = removes.slice(0, 10);
  const refuse = (): void => refuseUntold({ removes, downgrades: [] }, []);
  expect(refuse).toThrow(
    expect.objectContaining({ code: "HOST_ERROR", details: { packages: named } }) as Error,
  );
  expect(refuse).toThrow(`told of: ${named.join(", ")}. The index`);
});
