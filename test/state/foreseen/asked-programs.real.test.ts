/** Plans that ask the programs of a machine: apt and useradd say the same afterwards, and nothing on it is different. */
import { beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceResult } from "../../../lib/state/result.ts";
import { DebArchive, forgetSources } from "../../support/machine/deb-archive.ts";
import { describeOnThrowawayMachine } from "../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const one = "fleetwright-asked-one";
const needy = "fleetwright-asked-needy";

/** Where package managers and useradd write, with times: what was written anew shows, even with the same content. */
const places = ["/var/lib/apt", "/var/cache/apt", "/var/lib/dpkg", "/etc/apt"];
const tables = ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"];
const needs = { programs: ["apt-get", "dpkg-deb", "gpg", "useradd"] };

describeOnThrowawayMachine("what a plan asks", needs, (machine) => {
  let archive: DebArchive;
  const start = (): RealState => new RealState({ host: machine().host });
  const repository = (): JsonObject => {
    return { id: "source", type: "package_repository", name: "fleetwright-asked", ...archive.source };
  };
  beforeAll(async () => {
    forgetSources(machine());
    archive = new DebArchive(machine(), [
      { name: one, version: "1.0" },
      { name: needy, version: "1.0", depends: "fleetwright-asked-nothing" },
    ]);
    using source = start();
    await source.apply([repository()]);
  });

  const snapshot = (): unknown => ({
    files: machine()
      .output("find", ...places, "-printf", "%p %y %T@ %s %m\n")
      .split("\n")
      .sort(),
    packages: machine().output("dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev} ${Version}\\n"),
    tables: machine().output("cat", ...tables),
  });
  const plan = async (...definitions: JsonObject[]): Promise<ResourceResult[]> => {
    using state = start();
    const before = snapshot();
    const { results } = await state.run("plan", definitions);
    expect(snapshot()).toEqual(before);
    return results;
  };
  const pack = (name: string, more: JsonObject = {}): JsonObject => ({
    id: "p",
    type: "package",
    name,
    ...more,
  });

  test("apt knows a package that is there, and would install it", async () => {
    expect(await plan(pack(one))).toMatchObject([{ outcome: "would_change", action: "create" }]);
  });

  test.each<[string, JsonObject, RegExp]>([
    ["a name", { name: "fleetwright-asked-nobody" }, /no package of this name.*E: Unable to locate package/],
    [
      "a version",
      { name: one, version: "9.9" },
      /E: Version '9.9' for 'fleetwright-asked-one' was not found/,
    ],
    ["something that it needs", { name: needy }, /fleetwright-asked-nothing|unmet|broken packages/],
  ])(
    "apt does not know %s: the plan fails in its words, and so does the apply",
    async (_what, more, words) => {
      const wanted = { id: "p", type: "package", ...more };
      const [planned] = await plan(wanted);
      expect(planned).toMatchObject({ outcome: "failed", message: expect.stringMatching(words) });
      using state = start();
      expect(await state.apply([wanted])).toEqual([expect.stringContaining(`p ${planned?.code}: `)]);
    },
  );

  test("a package that is not known yet waits for the source that comes before", async () => {
    const other = { ...repository(), name: "fleetwright-asked-other" };
    const [, result] = await plan(other, pack("fleetwright-asked-nobody"));
    expect(result).toMatchObject({ outcome: "unknown", until: "source" });
  });

  test("where the index counts as old, what it does not know is unknown", async () => {
    const [result] = await plan(pack("fleetwright-asked-nobody", { update_cache_seconds: 0 }));
    expect(result).toMatchObject({ outcome: "unknown", action: "create" });
  });

  test.each<[string, JsonObject, string[]]>([
    ["a number that is taken", { uid: 1 }, ["-u", "1"]],
    ["a group of nobody", { group: "fleetwright-nobodys" }, ["-g", "fleetwright-nobodys"]],
    ["a supplementary group of nobody", { groups: ["fleetwright-nobodys"] }, ["-G", "fleetwright-nobodys"]],
  ])("useradd would refuse %s, and so does the plan", async (_what, more, options) => {
    const [result] = await plan({ id: "u", type: "user", name: "fleetwright-asked", ...more });
    expect(result).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    const before = machine().output("cat", ...tables);
    expect(machine().exitCode("useradd", ...options, "fleetwright-asked")).not.toBe(0);
    expect(machine().output("cat", ...tables)).toBe(before);
  });
});
