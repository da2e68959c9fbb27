/** What is told of packages and of what happens to others, down to which of several versions and how many names. */
import { expect, test } from "vitest";
import { aptProvider } from "../../../../lib/state/resources/package/apt.ts";
import { parseBrewInfo } from "../../../../lib/state/resources/package/brew.ts";
import { foretell, refuseUntold } from "../../../../lib/state/resources/package/foretell.ts";
import {
  installedState,
  notInstalled,
  type PackageMachine,
  type PackageProvider,
} from "../../../../lib/state/resources/package/provider.ts";
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

test("what is to go itself is no side effect of what comes in its place, and what goes for both is told once", async () => {
  const provider: PackageProvider = {
    ...aptProvider,
    foretellRemoval: async () => ["site", "modules"],
    foretellInstall: async () => ({ removes: ["apache", "modules", "php"], downgrades: [] }),
  };
  const found = findDifferences(
    [
      { name: "apache", ensure: "absent" },
      { name: "nginx", ensure: "present" },
    ],
    [installedState("2.4"), notInstalled],
    [],
  );
  const effects = await foretell(found, provider, {} as PackageMachine);
  expect(effects).toEqual({ removes: ["site", "modules", "php"], downgrades: [] });
});

test("what would become older than was told is refused, as what was not told at all", () => {
  const older = { name: "libweb", before: "2", after: "1" };
  const told = [{ property: "version[libweb]", before: "2", after: "1" }];
  expect(() => refuseUntold({ removes: [], downgrades: [older] }, told)).not.toThrow();
  for (const effects of [
    { removes: [], downgrades: [{ ...older, after: "0.9" }] },
    { removes: ["libweb"], downgrades: [older] },
  ])
    expect(() => refuseUntold(effects, told)).toThrow("told of: libweb. The index");
});
