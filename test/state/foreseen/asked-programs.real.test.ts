/** Plans that ask the programs of this machine: apt and useradd say the same afterwards, and nothing on it is different. */
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceResult } from "../../../lib/state/result.ts";
import { DebArchive } from "../../support/machine/deb-archive.ts";
import { describeOnRealMachine, exitCode, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const one = "fleetwright-asked-one";
const needy = "fleetwright-asked-needy";

/** Where package managers and useradd write, with times: what was written anew shows, even with the same content. */
const places = ["/var/lib/apt", "/var/cache/apt", "/var/lib/dpkg", "/etc/apt"];
const tables = ["/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"];

function snapshot(): unknown {
  const files = places.flatMap((place) =>
    readdirSync(place, { recursive: true, encoding: "utf8" }).map((name) => {
      const { mtimeMs, size, mode } = lstatSync(join(place, name));
      return [place, name, mtimeMs, size, mode];
    }),
  );
  const packages = output("dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev} ${Version}\\n");
  return { files, packages, tables: tables.map((path) => readFileSync(path, "utf8")) };
}

async function plan(...definitions: JsonObject[]): Promise<ResourceResult[]> {
  using state = new RealState();
  const before = snapshot();
  const { results } = await state.run("plan", definitions);
  expect(snapshot()).toEqual(before);
  return results;
}

describeOnRealMachine("what a plan asks", { programs: ["apt-get", "dpkg-deb", "gpg", "useradd"] }, () => {
  let archive: DebArchive;
  let source: RealState;
  const repository = (): JsonObject => {
    return { id: "source", type: "package_repository", name: "fleetwright-asked", ...archive.source };
  };
  beforeAll(async () => {
    archive = new DebArchive([
      { name: one, version: "1.0" },
      { name: needy, version: "1.0", depends: "fleetwright-asked-nothing" },
    ]);
    source = new RealState();
    await source.apply([repository()]);
  });
  afterAll(async () => {
    exitCode("dpkg", "--purge", one, needy);
    await source.apply([]);
    source[Symbol.dispose]();
    archive[Symbol.dispose]();
  });

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
      using state = new RealState();
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
    const before = readFileSync("/etc/passwd", "utf8");
    expect(exitCode("useradd", ...options, "fleetwright-asked")).not.toBe(0);
    expect(readFileSync("/etc/passwd", "utf8")).toBe(before);
  });
});
