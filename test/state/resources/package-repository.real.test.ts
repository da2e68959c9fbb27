/** A signed archive that the test makes, as a source of apt; apt-cache says what came of it. */
import { beforeAll, expect, test } from "vitest";
import { DebArchive, forgetSources } from "../../support/machine/deb-archive.ts";
import { describeOnThrowawayMachine } from "../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const name = "fleetwright-test-source";
const needs = { programs: ["apt-get", "dpkg-deb", "gpg"] };

describeOnThrowawayMachine("package_repository, with apt", needs, (machine) => {
  let archive: DebArchive;
  beforeAll(() => {
    forgetSources(machine());
    archive = new DebArchive(machine(), [{ name, version: "1.0" }]);
  });
  const policy = (): string => machine().output("apt-cache", "policy", name);
  const start = (): RealState => new RealState({ host: machine().host });
  const expectNoFiles = (): void => {
    for (const path of [`/etc/apt/sources.list.d/${name}.sources`, `/etc/apt/keyrings/${name}.asc`])
      expect(machine().exitCode("test", "-e", path)).toBe(1);
  };

  test("apt knows the packages after it was made, and no longer after it was taken away", async () => {
    using state = start();
    const source = { id: "r", type: "package_repository", name, ...archive.source };
    expect(policy()).toBe("");
    expect(await state.apply([source])).toEqual(["r changed create"]);
    expect(policy()).toContain("Candidate: 1.0\n");
    expect(await state.apply([source])).toEqual(["r unchanged none"]);
    expect(await state.apply([])).toEqual(["r changed remove"]);
    expectNoFiles();
    expect(policy()).toBe("");
  });

  test("an archive signed by another key is refused, and nothing of it stays", async () => {
    using state = start();
    const other = new DebArchive(machine(), []);
    const source = { id: "r", type: "package_repository", name, ...archive.source, key: other.key };
    expect(await state.apply([source])).toEqual([
      expect.stringMatching(/^r COMMAND_FAILED: .*exited with 100: /),
    ]);
    expectNoFiles();
  });
});
