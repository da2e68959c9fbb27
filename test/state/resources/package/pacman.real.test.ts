/** pacman 6.0 of Debian, with a repository that the test makes; pacman says what came of it. */
import { beforeAll, beforeEach, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { describeLaws } from "../../../support/laws.ts";
import { describeOnThrowawayMachine } from "../../../support/machine/on-throwaway-machine.ts";
import { PacmanRepository } from "../../../support/machine/pacman-repository.ts";
import { RealState } from "../../../support/machine/real-state.ts";

describeOnThrowawayMachine(
  "package, with pacman",
  { programs: ["pacman", "repo-add", "bsdtar"] },
  (machine) => {
    let repository: PacmanRepository;
    beforeAll(() => {
      repository = new PacmanRepository(machine());
      repository.publish(
        { name: "one", version: "1.0-1" },
        { name: "two", version: "1.0-1", depends: "one" },
        { name: "three", version: "1.0-1" },
      );
    });
    const installed = (): string[] => {
      const { stdout } = machine().run("pacman", "-Q");
      return stdout.split("\n").filter(Boolean);
    };
    const names = (): string[] => installed().map((line) => line.split(" ")[0] ?? "");
    const pacman = (...args: string[]): string => machine().output("pacman", "--noconfirm", ...args);
    const start = (): RealState => new RealState({ host: machine().host });
    const wanted = (more: JsonObject): JsonObject[] => [
      { id: "p", type: "package", provider: "pacman", ...more },
    ];
    beforeEach(() => {
      if (installed().length > 0) pacman("-Rn", ...names());
    });

    test("what the index does not know is fetched, also where none was ever fetched", async () => {
      using state = start();
      expect(await state.apply(wanted({ name: ["one", "three"] }))).toEqual(["p changed create"]);
      repository.publish({ name: "new", version: "1-1" }, { name: "newer", version: "1-1" });
      expect(await state.apply(wanted({ name: ["new", "newer"] }))).toEqual([
        "p changed remove",
        "p changed create",
      ]);
      expect(installed()).toEqual(["new 1-1", "newer 1-1"]);
    });

    test("a lock that a power loss left is in the way of nothing, and one of now is somebody's", async () => {
      const lock = "/var/lib/pacman/db.lck";
      using state = start();
      machine().run("touch", "-d", "2001-09-09", lock);
      expect(await state.apply(wanted({ name: "three" }))).toEqual(["p changed create"]);
      machine().run("touch", lock);
      const results = await state.apply(wanted({ name: ["one", "three"] }));
      machine().run("rm", lock);
      expect(results).toEqual([
        "p unchanged none",
        expect.stringMatching(/^p COMMAND_FAILED: .*could not lock database: File exists/),
      ]);
    });

    describeLaws(
      {
        "several packages": {
          definition: { type: "package", provider: "pacman", name: ["one", "three"] },
          breakIt: () => void pacman("-R", "three"),
          observe: installed,
        },
        "a package that is not wanted": {
          definition: { type: "package", provider: "pacman", name: "three", ensure: "absent" },
          prepare: () => void pacman("-S", "--needed", "three"),
          breakIt: () => void pacman("-S", "three"),
          observe: installed,
        },
      },
      { "on a machine with pacman": () => machine().host },
    );

    test("latest upgrades what the index knows to be older, and an age makes an old index a difference", async () => {
      using state = start();
      const latest = wanted({ name: "one", ensure: "latest", update_cache_seconds: 3600 });
      expect(await state.apply(latest)).toEqual(["p changed create"]);
      repository.publish({ name: "one", version: "1.1-1" });
      expect(await state.apply(latest)).toEqual(["p unchanged none"]);
      machine().output("touch", "--date=2 hours ago", "/var/lib/pacman/sync");
      expect(await state.apply(latest)).toEqual(["p changed update"]);
      expect(installed()).toEqual(["one 1.1-1"]);
    });

    test("a changed configuration file is kept, but for a purge", async () => {
      using state = start();
      await state.apply(wanted({ name: "one" }));
      machine().write("/etc/one.conf", "a=2\n");
      expect(await state.apply([])).toEqual(["p changed remove"]);
      expect(machine().output("cat", "/etc/one.conf.pacsave")).toBe("a=2\n");
      await state.apply(wanted({ name: "three" }));
      machine().write("/etc/three.conf", "a=2\n");
      await state.apply(wanted({ name: "three", ensure: "purged" }));
      expect(machine().exitCode("test", "-e", "/etc/three.conf.pacsave")).toBe(1);
    });

    test("what another package needs stays, and the failure says which", async () => {
      using state = start();
      await state.apply(wanted({ name: "one" }));
      pacman("-S", "two");
      expect(await state.apply([])).toEqual(["p HOST_ERROR: Other packages need it: two."]);
      expect(installed()).toEqual([expect.stringMatching(/^one /), "two 1.0-1"]);
    });

    test("what came along goes with a package, unless it was there before or somebody asked for it since", async () => {
      for (const [before, since, left] of [
        [null, null, []],
        ["-S", null, ["one"]],
        [null, "-D", ["one"]],
      ] as const) {
        using state = start();
        if (before) pacman(before, "--asdeps", "one");
        expect(await state.apply(wanted({ name: "two" }))).toEqual(["p changed create"]);
        expect(names()).toEqual(["one", "two"]);
        if (since) pacman(since, "--asexplicit", "one");
        const plan = await state.run("plan", []);
        const told = plan.results[0]?.changes.map(({ property }) => property);
        expect(told).toEqual(left.length === 0 ? ["ensure", "ensure[one]"] : ["ensure"]);
        expect(await state.apply([])).toEqual(["p changed remove"]);
        expect(names()).toEqual(left);
        if (left.length > 0) pacman("-R", "one");
      }
    });

    test("what was there for the sake of others is so again when it comes back", async () => {
      using state = start();
      pacman("-S", "--asdeps", "three");
      expect(machine().output("pacman", "-Qqd")).toBe("three\n");
      expect(await state.apply(wanted({ name: "three", ensure: "absent" }))).toEqual(["p changed remove"]);
      expect(await state.apply([])).toEqual(["p changed remove"]);
      expect(machine().output("pacman", "-Qqd")).toBe("three\n");
    });

    test("a name that no source knows is a failure in pacman's words", async () => {
      using state = start();
      expect(await state.apply(wanted({ name: ["none", "neither"] }))).toEqual([
        expect.stringMatching(
          /^p COMMAND_FAILED: .*exited with 1: error: target not found: none \| error: target not found: neither/,
        ),
      ]);
    });
  },
);
