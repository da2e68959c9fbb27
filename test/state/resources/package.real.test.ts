/** apt and dpkg of Debian, with an archive that the test makes; dpkg-query and apt-mark say what came of it. */
import { beforeAll, expect, test } from "vitest";
import { DebArchive, forgetSources } from "../../support/machine/deb-archive.ts";
import { describeOnThrowawayMachine } from "../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const one = "fleetwright-test-one";
const two = "fleetwright-test-two";
const apart = "fleetwright-test-apart";

describeOnThrowawayMachine("package, with apt", { programs: ["apt-get", "dpkg-deb", "gpg"] }, (machine) => {
  let archive: DebArchive;
  beforeAll(async () => {
    forgetSources(machine());
    archive = new DebArchive(machine(), [
      { name: one, version: "1.0" },
      { name: one, version: "1.1" },
      { name: two, version: "1.0", depends: one },
      { name: apart, version: "1.0", conflicts: one },
    ]);
    using source = start();
    await source.apply([repository()]);
  });
  const output = (program: string, ...args: string[]): string => machine().output(program, ...args);
  const exitCode = (program: string, ...args: string[]): number | null =>
    machine().exitCode(program, ...args);
  const status = (name: string): string =>
    output("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", name);
  const start = (): RealState => new RealState({ host: machine().host });
  const repository = () => ({
    id: "source",
    type: "package_repository",
    name: "fleetwright-test",
    ...archive.source,
  });

  test("installs, changes the version, holds, and takes away what it installed", async () => {
    using state = start();
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
    expect(exitCode("test", "-e", `/etc/${one}.conf`)).toBe(1);
    expect(exitCode("dpkg-query", "-W", one)).toBe(1);
  });

  test("a hold that a later version asked for goes with the package", async () => {
    using state = start();
    const wanted = (more: object) => [{ id: "p", type: "package", name: one, ...more }];
    await state.apply(wanted({}));
    expect(await state.apply(wanted({ hold: true }))).toEqual(["p changed update"]);
    expect(await state.apply([])).toEqual(["p changed remove"]);
    expect(output("apt-mark", "showhold")).not.toContain(one);
  });

  test("does not take away what another package needs, and says which", async () => {
    using state = start();
    expect(await state.apply([{ id: "p", type: "package", name: one }])).toEqual(["p changed create"]);
    output("apt-get", "-y", "install", two);
    expect(await state.apply([])).toEqual([`p HOST_ERROR: Other packages need it and would go too: ${two}.`]);
    expect(status(one)).toBe("ii 1.1");
    output("dpkg", "--purge", two);
    expect(await state.apply([])).toEqual(["p changed remove"]);
  });

  test("what came along goes with the package, and nothing else", async () => {
    using state = start();
    // Configuration that another test left is listed, too.
    output("dpkg", "--purge", two, one);
    const before = [
      output("dpkg-query", "-W"),
      output("apt-mark", "showauto"),
      output("apt-mark", "showmanual"),
    ];
    expect(await state.apply([{ id: "p", type: "package", name: two }])).toEqual(["p changed create"]);
    expect(output("apt-mark", "showauto")).toContain(`${one}\n`);
    const plan = await state.run("plan", []);
    expect(plan.results[0]?.changes.map(({ property }) => property)).toEqual(["ensure", `ensure[${one}]`]);
    expect(await state.apply([])).toEqual(["p changed remove"]);
    output("dpkg", "--purge", two, one);
    expect([
      output("dpkg-query", "-W"),
      output("apt-mark", "showauto"),
      output("apt-mark", "showmanual"),
    ]).toEqual(before);
  });

  test("what goes for a package is in the plan, and comes back with its marks", async () => {
    using state = start();
    output("apt-get", "-y", "install", two);
    expect(output("apt-mark", "showauto")).toContain(`${one}\n`);
    const marks = (): string[] => [
      output("apt-mark", "showauto"),
      output("apt-mark", "showmanual"),
      status(one),
      status(two),
    ];
    const before = marks();
    const wanted = [{ id: "p", type: "package", name: apart }];
    const plan = await state.run("plan", wanted);
    const told = plan.results[0]?.changes.map(({ property, after }) => `${property} ${String(after)}`);
    expect(told?.toSorted()).toEqual([`ensure present`, `ensure[${one}] absent`, `ensure[${two}] absent`]);
    expect(await state.apply(wanted)).toEqual(["p changed create"]);
    expect([status(one), status(two)]).toEqual(["rc 1.1", "rc 1.0"]);
    expect(await state.apply([])).toEqual(["p changed remove"]);
    expect(marks()).toEqual(before);
    expect(status(apart)).toBe("rc 1.0");
    output("dpkg", "--purge", two, one, apart);
  });

  test("names that no source knows are a failure, also where apt would take them for something else", async () => {
    using state = start();
    output("apt-get", "-y", "install", one);
    // Taken for a removal, for a pattern, for a release, and for whatever provides it.
    const names = ["fleetwright-test-none", `${one}-`, "fleetwright.test-o", `${two}/stable`, "awk"];
    const wanted = [{ id: "p", type: "package", name: names, timeout_seconds: 60 }];
    const plan = await state.run("plan", wanted);
    expect(plan.results[0]?.changes.map(({ property }) => property)).toEqual(
      names.map((name) => `ensure[${name}]`),
    );
    expect(await state.apply(wanted)).toEqual([
      `p HOST_ERROR: The index knows no package of this name: ${names.join(", ")}.`,
    ]);
    expect([status(one), exitCode("dpkg-query", "-W", two)]).toEqual(["ii 1.1", 1]);
    output("dpkg", "--purge", one);
  });
});
