/** A signed archive that the test makes, as a source of this machine's apt; apt-cache says what came of it. */
import { existsSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DebArchive } from "../../support/machine/deb-archive.ts";
import { describeOnRealMachine, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const name = "fleetwright-test-source";
const policy = (): string => output("apt-cache", "policy", name);

describeOnRealMachine("package_repository, with apt", { programs: ["apt-get", "dpkg-deb", "gpg"] }, () => {
  let archive: DebArchive;
  beforeAll(() => void (archive = new DebArchive([{ name, version: "1.0" }])));
  afterAll(() => archive[Symbol.dispose]());

  test("apt knows the packages after it was made, and no longer after it was taken away", async () => {
    using state = new RealState();
    const source = { id: "r", type: "package_repository", name, ...archive.source };
    expect(policy()).toBe("");
    expect(await state.apply([source])).toEqual(["r changed create"]);
    expect(policy()).toContain("Candidate: 1.0\n");
    expect(await state.apply([source])).toEqual(["r unchanged none"]);
    expect(await state.apply([])).toEqual(["r changed remove"]);
    expect(existsSync(`/etc/apt/sources.list.d/${name}.sources`)).toBe(false);
    expect(existsSync(`/etc/apt/keyrings/${name}.asc`)).toBe(false);
    expect(policy()).toBe("");
  });

  test("an archive signed by another key is refused, and nothing of it stays", async () => {
    using state = new RealState();
    using other = new DebArchive([]);
    const source = { id: "r", type: "package_repository", name, ...archive.source, key: other.key };
    expect(await state.apply([source])).toEqual([
      expect.stringMatching(/^r COMMAND_FAILED: .*exited with 100: /),
    ]);
    expect(existsSync(`/etc/apt/sources.list.d/${name}.sources`)).toBe(false);
    expect(existsSync(`/etc/apt/keyrings/${name}.asc`)).toBe(false);
  });
});
