/** The zones of this machine, in a folder that stands for its root; `date` says what came of it. */
import { cpSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnRealMachine, output } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const zones = "/usr/share/zoneinfo";

describeOnRealMachine("timezone", { programs: ["date", "env"], paths: [`${zones}/Asia/Tokyo`] }, () => {
  test("date follows the link there and back", async () => {
    using state = new RealState({ rootFolders: ["etc", "usr/share/zoneinfo/Asia"] });
    const { root } = state;
    for (const zone of ["UTC", "Asia/Tokyo"])
      cpSync(`${zones}/${zone}`, join(root, zones, zone), { dereference: true });
    symlinkSync(`${zones}/UTC`, join(root, "etc/localtime"));
    writeFileSync(join(root, "etc/timezone"), "UTC\n");
    const wanted = [{ id: "t", type: "timezone", name: "Asia/Tokyo" }];
    const hour = (): string => {
      const zone = readlinkSync(join(root, "etc/localtime"));
      return output("env", `TZ=:${join(root, zone)}`, "date", "-d", "@0", "+%H %z").trim();
    };

    expect(hour()).toBe("00 +0000");
    expect(await state.apply(wanted)).toEqual(["t changed update"]);
    expect(hour()).toBe("09 +0900");
    expect(await state.apply(wanted)).toEqual(["t unchanged none"]);
    expect(await state.apply([])).toEqual(["t changed remove"]);
    expect(hour()).toBe("00 +0000");
  });
});
