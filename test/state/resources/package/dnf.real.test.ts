/** dnf 4 and rpm of Debian, with a repository that the test makes; rpm and the list of locks say what came of it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { describeLaws } from "../../../support/laws.ts";
import { describeOnThrowawayMachine } from "../../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../../support/machine/real-state.ts";
import { RpmRepository } from "../../../support/machine/rpm-repository.ts";

const [one, two, three] = ["fleetwright-test-one", "fleetwright-test-two", "fleetwright-test-three"] as const;
const [old, instead] = ["fleetwright-test-old", "fleetwright-test-instead"] as const;

describeOnThrowawayMachine(
  "package and package_repository, with dnf",
  { programs: ["dnf", "rpmbuild", "createrepo_c", "gpg"], paths: ["/etc/dnf/plugins/versionlock.conf"] },
  (machine) => {
    let repository: RpmRepository;
    beforeAll(() => {
      repository = new RpmRepository(machine());
      repository.publish(
        { name: one, version: "1.0" },
        { name: one, version: "1.1" },
        { name: two, version: "1.0", requires: one },
        { name: three, version: "1.0", epoch: 2 },
        { name: old, version: "1.0" },
      );
    });
    const installed = (): string[] => {
      const names = machine().output("rpm", "-qa", "--qf", "%{NAME} %{VERSION}\n").split("\n");
      return names.filter((name) => name.startsWith("fleetwright")).sort();
    };
    const lockFile = "/etc/dnf/plugins/versionlock.list";
    const locks = (): string[] =>
      machine()
        .output("cat", lockFile)
        .split("\n")
        .filter((line) => /^\w/.test(line));
    const start = (): RealState => new RealState({ host: machine().host });
    const source = (more: JsonObject = {}): JsonObject => ({
      id: "r",
      type: "package_repository",
      provider: "dnf",
      name: "test",
      uris: [repository.uri],
      key: repository.key,
      ...more,
    });
    const wanted = (more: JsonObject): JsonObject[] => [
      { id: "p", type: "package", provider: "dnf", ...more },
    ];

    test("an archive that can't be reached is refused, and nothing of it stays", async () => {
      using state = start();
      expect(await state.apply([source({ uris: ["file:///srv/nothing"] })])).toEqual([
        expect.stringMatching(
          /^r COMMAND_FAILED: dnf exited with 1: .*Failed to download metadata for repo 'test'/,
        ),
      ]);
      for (const path of ["/etc/yum.repos.d/test.repo", "/etc/pki/rpm-gpg/RPM-GPG-KEY-test"])
        expect(machine().exitCode("test", "-e", path)).toBe(1);
    });

    test("an archive whose packages another key signed installs nothing", async () => {
      using state = start();
      const given = await state.apply([source({ key: repository.otherKey }), ...wanted({ name: one })]);
      expect(given).toEqual(["r changed create", expect.stringMatching(/^p COMMAND_FAILED: .*GPG/)]);
      expect(installed()).toEqual([]);
      // What failed before it changed anything never became ours.
      expect(await state.apply([])).toEqual(["r changed remove"]);
      expect(machine().output("dnf", "-q", "repolist")).toBe("");
      expect(machine().output("rpm", "-qa", "gpg-pubkey")).toMatch(/^gpg-pubkey-/);
    });

    describe("with the archive", () => {
      let archive: RealState;
      beforeAll(async () => {
        archive = start();
        await archive.apply([source()]);
      });
      afterAll(() => archive[Symbol.dispose]());
      beforeEach(() => {
        if (installed().length > 0) machine().output("sh", "-c", "rpm -qa 'fleetwright-*' | xargs rpm -e");
        machine().write(lockFile, "");
      });

      describeLaws(
        {
          "a held version of a package": {
            definition: { type: "package", provider: "dnf", name: one, version: "1.0-*", hold: true },
            breakIt: () => machine().write(lockFile, ""),
            observe: () => [installed(), locks()],
          },
        },
        { "on a machine with dnf": () => machine().host },
      );

      test("dnf has it, and it is not made twice", async () => {
        expect(machine().output("dnf", "-q", "repolist")).toMatch(/^test +test$/m);
        expect(await archive.apply([source()])).toEqual(["r unchanged none"]);
      });

      test("installs, changes the version, and takes away what it installed", async () => {
        using state = start();
        expect(await state.apply(wanted({ name: one, version: "1.0-1" }))).toEqual(["p changed create"]);
        expect(await state.apply(wanted({ name: one, version: "1.0-1" }))).toEqual(["p unchanged none"]);
        expect(await state.apply(wanted({ name: one, ensure: "latest" }))).toEqual(["p changed update"]);
        expect(installed()).toEqual([`${one} 1.1`]);
        expect(await state.apply(wanted({ name: one, version: "1.0*" }))).toEqual(["p changed update"]);
        expect(installed()).toEqual([`${one} 1.0`]);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect(installed()).toEqual([]);
      });

      test("a lock that a later version asked for goes with the package", async () => {
        using state = start();
        await state.apply(wanted({ name: one }));
        expect(await state.apply(wanted({ name: one, hold: true }))).toEqual(["p changed update"]);
        expect(locks()).toEqual([`${one}-0:1.1-1.*`]);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect([installed(), locks()]).toEqual([[], []]);
      });

      test("a version has its epoch before it", async () => {
        using state = start();
        expect(await state.apply(wanted({ name: three, version: "2:1.0-1" }))).toEqual(["p changed create"]);
        expect(await state.apply(wanted({ name: three, version: "2:1.0*" }))).toEqual(["p unchanged none"]);
      });

      test("several are installed together, and what came along goes with them", async () => {
        using state = start();
        expect(await state.apply(wanted({ name: [two, three] }))).toEqual(["p changed create"]);
        expect(installed()).toEqual([`${one} 1.1`, `${three} 1.0`, `${two} 1.0`]);
        const plan = await state.run("plan", []);
        expect(plan.results[0]?.changes.map(({ property }) => property)).toEqual([
          `ensure[${two}]`,
          `ensure[${three}]`,
          `ensure[${one}]`,
        ]);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect(installed()).toEqual([]);
      });

      test.each([
        ["was there before", ["-q", "-y", "install", one], null],
        ["somebody asked for since", null, ["-q", "-y", "mark", "install", one]],
      ])("what they need stays when they go where it %s", async (_when, before, since) => {
        using state = start();
        if (before) machine().output("dnf", ...before);
        await state.apply(wanted({ name: two }));
        if (since) machine().output("dnf", ...since);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect(installed()).toEqual([`${one} 1.1`]);
      });

      test("what a package takes along, or replaces, is in the plan, and comes back with its marks", async () => {
        using state = start();
        const stands = (): string[][] => [
          installed(),
          machine()
            .output("dnf", "-q", "repoquery", "--userinstalled", "--queryformat", "%{name}")
            .split("\n")
            .filter((name) => name.startsWith("fleetwright")),
        ];
        machine().output("dnf", "-q", "-y", "install", two, old);
        machine().output("dnf", "-q", "-y", "mark", "remove", old);
        const before = stands();
        const told = async (definition: JsonObject): Promise<string[] | undefined> => {
          const { results } = await state.run("plan", wanted(definition));
          return results[0]?.changes.map(({ property, after }) => `${property} ${String(after)}`).toSorted();
        };
        const absent = { name: one, ensure: "absent" };
        expect(await told(absent)).toEqual(["ensure absent", `ensure[${two}] absent`]);
        expect(await state.apply(wanted(absent))).toEqual(["p changed remove"]);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect(stands()).toEqual(before);
        repository.publish({ name: instead, version: "1.0", obsoletes: `${old} < 2` });
        machine().output("dnf", "-q", "makecache", "--refresh");
        expect(await told({ name: instead })).toEqual(["ensure present", `ensure[${old}] absent`]);
        expect(await state.apply(wanted({ name: instead }))).toEqual(["p changed create"]);
        expect(installed()).toEqual([`${instead} 1.0`, `${one} 1.1`, `${two} 1.0`]);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect(stands()).toEqual(before);
      });

      test("does not take away what another package needs, and says which; absent takes both", async () => {
        using state = start();
        await state.apply(wanted({ name: one }));
        machine().output("dnf", "-q", "-y", "install", two);
        expect(await state.apply([])).toEqual([
          expect.stringMatching(
            /^p COMMAND_FAILED: rpm exited with 1: .*is needed by \(installed\) fleetwright-test-two/,
          ),
        ]);
        expect(await state.apply(wanted({ name: one, ensure: "absent" }))).toEqual(["p changed remove"]);
        expect(installed()).toEqual([]);
      });

      test("somebody else's lock is respected, and the failure says why", async () => {
        using state = start();
        await state.apply(wanted({ name: one, version: "1.0-1" }));
        machine().output("dnf", "-q", "-y", "versionlock", "add", one);
        expect(await state.apply(wanted({ name: one, version: "1.1-1" }))).toEqual([
          expect.stringMatching(/^p COMMAND_FAILED: .*Unable to find a match/),
        ]);
        expect(await state.apply(wanted({ name: one, version: "1.1-1", hold: false }))).toEqual([
          "p changed update",
        ]);
        expect([installed(), locks()]).toEqual([[`${one} 1.1`], []]);
      });

      test("a plan says what dnf would install, and of what it does not know, that and its words", async () => {
        using state = start();
        const [known] = (await state.run("plan", wanted({ name: one }))).results;
        expect(known).toMatchObject({ outcome: "would_change", action: "create" });
        const [nobody] = (await state.run("plan", wanted({ name: "fleetwright-nobody" }))).results;
        expect(nobody).toMatchObject({
          outcome: "unknown",
          message: expect.stringMatching(/index up to date first.*fleetwright-nobody/),
        });
        expect(installed()).toEqual([]);
      });

      test("a version that dnf's index does not know yet is fetched; a name that nobody knows is a failure", async () => {
        using state = start();
        await state.apply(wanted({ name: one }));
        repository.publish({ name: one, version: "1.2" });
        expect(await state.apply(wanted({ name: one, version: "1.2-1" }))).toEqual(["p changed update"]);
        expect(await state.apply(wanted({ name: ["fleetwright-none", "fleetwright-neither"] }))).toEqual([
          "p changed remove",
          expect.stringMatching(
            /^p COMMAND_FAILED: .*Unable to find a match: fleetwright-none fleetwright-neither/,
          ),
        ]);
      });
    });
  },
);
