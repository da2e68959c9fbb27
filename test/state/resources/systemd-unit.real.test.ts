/** A unit in a folder that stands for the root of an image; systemctl says what came of it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnRealMachine, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

describeOnRealMachine("systemd_unit", { programs: ["systemctl"] }, () => {
  test("systemctl finds the unit with its drop-in in the image, and no more after the removal", async () => {
    using state = new RealState({ rootFolders: ["etc/systemd/system"] });
    const name = "fleetwright-test.service";
    // systemctl fails where there is no unit at all.
    writeFileSync(join(state.root, "etc/systemd/system/other.service"), "[Service]\nExecStart=/bin/true\n");
    const content = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n";
    const wanted = [
      { id: "u", type: "systemd_unit", name, content },
      { id: "d", type: "systemd_unit", name, drop_in: "limits.conf", content: "[Service]\nMemoryMax=1G\n" },
    ];
    const systemctl = (...args: string[]): string =>
      output("systemctl", `--root=${state.root}`, "--no-legend", ...args);

    expect(systemctl("list-unit-files")).not.toContain(name);
    expect(await state.apply(wanted)).toEqual(["u changed create", "d changed create"]);
    expect(systemctl("list-unit-files")).toMatch(/^fleetwright-test\.service +disabled/m);
    expect(output("cat", join(state.root, "etc/systemd/system", `${name}.d/limits.conf`))).toContain(
      "MemoryMax=1G",
    );
    expect(await state.apply(wanted)).toEqual(["u unchanged none", "d unchanged none"]);
    expect(await state.apply([])).toEqual(["d changed remove", "u changed remove"]);
    expect(systemctl("list-unit-files")).not.toContain(name);
    expect(output("ls", join(state.root, "etc/systemd/system"))).toBe("other.service\n");
  });
});
