/** dnf 4 and rpm of Debian, with a repository that the test makes; rpm and the list of locks say what came of it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/internal/json.ts";
import { describeLaws } from "../../../support/laws.ts";
import { describeOnThrowawayMachine } from "../../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../../support/machine/real-state.ts";
import { RpmRepository } from "../../../support/machine/rpm-repository.ts";

const [one, two, three] = ["fleetwright-test-one", "fleetwright-test-two", "fleetwright-test-three"] as const;

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
      );
    });
    const installed = (): string[] => {
      const names = machine().output("rpm", "-qa", "--qf", "%{NAME} %{VERSION}\n").split("\n");
      return names.filter((name) => name.startsWith("fleetwright")).sort();
    };
    const locks = (): string => machine().output("dnf", "-q", "versionlock", "list").trim();
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
      expect(await state.apply([])).toEqual(["p unchanged none", "r changed remove"]);
      expect(machine().output("dnf", "-q", "repolist")).toBe("");
    });

    describe("with the archive", () => {
      let archive: RealState;
      beforeAll(async () => {
        archive = start();
        expect(await archive.apply([source()])).toEqual(["r changed create"]);
        expect(await archive.apply([source()])).toEqual(["r unchanged none"]);
      });
      afterAll(() => archive[Symbol.dispose]());
      beforeEach(() => {
        if (installed().length > 0) machine().output("sh", "-c", "rpm -qa 'fleetwright-*' | xargs rpm -e");
        machine().write("/etc/dnf/plugins/versionlock.list", "");
      });

      describeLaws(
        {
          "a held version of a package": {
            definition: { type: "package", provider: "dnf", name: one, version: "1.0-*", hold: true },
            breakIt: () => void machine().output("dnf", "-q", "-y", "versionlock", "clear"),
            observe: () => [installed(), locks()],
          },
        },
        { "on a machine with dnf": () => machine().host },
      );

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

      test("a version has its epoch before it", async () => {
        using state = start();
        expect(await state.apply(wanted({ name: three, version: "2:1.0-1" }))).toEqual(["p changed create"]);
        expect(await state.apply(wanted({ name: three, version: "2:1.0*" }))).toEqual(["p unchanged none"]);
      });

      test("several are installed together, and what they need stays when they go", async () => {
        using state = start();
        expect(await state.apply(wanted({ name: [two, three] }))).toEqual(["p changed create"]);
        expect(installed()).toEqual([`${one} 1.1`, `${three} 1.0`, `${two} 1.0`]);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect(installed()).toEqual([`${one} 1.1`]);
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
        expect([installed(), locks()]).toEqual([[`${one} 1.1`], ""]);
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
