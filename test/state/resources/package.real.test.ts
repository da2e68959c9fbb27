/** apt and dpkg of this machine, with an archive that the test makes; dpkg-query and apt-mark say what came of it. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DebArchive } from "../../support/machine/deb-archive.ts";
import { describeOnRealMachine, exitCode, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const one = "fleetwright-test-one";
const two = "fleetwright-test-two";
const status = (name: string): string =>
  output("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", name);

describeOnRealMachine("package, with apt", { programs: ["apt-get", "dpkg-deb", "gpg"] }, () => {
  let archive: DebArchive;
  let source: RealState;
  beforeAll(async () => {
    archive = new DebArchive([
      { name: one, version: "1.0" },
      { name: one, version: "1.1" },
      { name: two, version: "1.0", depends: one },
    ]);
    source = new RealState();
    await source.apply([repository()]);
  });
  afterAll(async () => {
    // Whatever a test left, and however it failed.
    exitCode("apt-mark", "unhold", one);
    exitCode("dpkg", "--purge", two, one);
    await source.apply([]);
    source[Symbol.dispose]();
    archive[Symbol.dispose]();
  });
  const repository = () => ({
    id: "source",
    type: "package_repository",
    name: "fleetwright-test",
    ...archive.source,
  });

  test("installs, changes the version, holds, and takes away what it installed", async () => {
    using state = new RealState();
    const wanted = (more: object) => [{ id: "p", type: "package", name: one, ...more }];

    const plan = await state.run("plan", wanted({ version: "1.0", hold: true }));
    expect(plan.results[0]?.outcome).toBe("would_change");
    expect(exitCode("dpkg-query", "-W", one)).toBe(1);

    expect(await state.apply(wanted({ version: "1.0", hold: true }))).toEqual(["p changed create"]);
    expect(status(one)).toBe("hi 1.0");
    expect(output("apt-mark", "showhold")).toContain(`${one}\n`);
    expect(await state.apply(wanted({ version: "1.0", hold: true }))).toEqual(["p unchanged none"]);

    expect(await state.apply(wanted({ version: "1.1*", hold: true }))).toEqual(["p changed update"]);
    expect(status(one)).toBe("hi 1.1");
    expect(await state.apply(wanted({ version: "1.0" }))).toEqual([
      expect.stringContaining("COMMAND_FAILED: /usr/bin/apt-get exited with 100: E: Held packages"),
    ]);
    expect(await state.apply(wanted({ version: "1.0", hold: false }))).toEqual(["p changed update"]);
    expect(status(one)).toBe("ii 1.0");
    expect(await state.apply(wanted({ ensure: "latest" }))).toEqual(["p changed update"]);
    expect(status(one)).toBe("ii 1.1");

    expect(await state.apply([])).toEqual(["p changed remove"]);
    expect(status(one)).toBe("rc 1.1");
    expect(await state.apply([])).toEqual([]);

    expect(await state.apply(wanted({ ensure: "purged" }))).toEqual(["p changed remove"]);
    expect(existsSync(`/etc/${one}.conf`)).toBe(false);
    expect(exitCode("dpkg-query", "-W", one)).toBe(1);
  });

  test("a hold that a later version asked for goes with the package", async () => {
    using state = new RealState();
    const wanted = (more: object) => [{ id: "p", type: "package", name: one, ...more }];
    await state.apply(wanted({}));
    expect(await state.apply(wanted({ hold: true }))).toEqual(["p changed update"]);
    expect(await state.apply([])).toEqual(["p changed remove"]);
    expect(output("apt-mark", "showhold")).not.toContain(one);
  });

  test("does not take away what another package needs, and says which", async () => {
    using state = new RealState();
    expect(await state.apply([{ id: "p", type: "package", name: one }])).toEqual(["p changed create"]);
    output("apt-get", "-y", "install", two);
    expect(await state.apply([])).toEqual([`p HOST_ERROR: Other packages need it and would go too: ${two}.`]);
    expect(status(one)).toBe("ii 1.1");
    output("dpkg", "--purge", two);
    expect(await state.apply([])).toEqual(["p changed remove"]);
  });

  test("names that no source knows are a failure with apt's own words", async () => {
    using state = new RealState();
    const wanted = [{ id: "p", type: "package", name: "fleetwright-test-none", timeout_seconds: 60 }];
    expect(await state.apply(wanted)).toEqual([
      expect.stringMatching(/^p COMMAND_FAILED: .*exited with 100: /),
    ]);
  });
});
