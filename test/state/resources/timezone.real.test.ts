/** The zones of this machine, in a folder that stands for its root and on a machine with systemd; `date` and timedatectl say what came of it. */
import { cpSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeLaws } from "../../support/laws.ts";
import { describeOnThrowawayMachine } from "../../support/machine/on-throwaway-machine.ts";
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

describeOnThrowawayMachine(
  "timezone, with systemd",
  {
    paths: ["/lib/systemd/systemd", `${zones}/Asia/Tokyo`],
    programs: ["timedatectl"],
    machine: { init: "systemd" },
  },
  (machine) => {
    /** Its daemon reads the zone when it starts, and runs for half a minute after it was asked. */
    const timedatectl = (...args: string[]): string => {
      machine().output("systemctl", "stop", "systemd-timedated");
      return machine()
        .output("timedatectl", ...args)
        .trim();
    };
    const observe = (): string[] => [
      timedatectl("show", "--property=Timezone", "--value"),
      machine().output("date", "--date=@0", "+%H").trim(),
    ];
    describeLaws(
      {
        "the zone of a machine": {
          definition: { type: "timezone", name: "Asia/Tokyo" },
          prepare: () => void timedatectl("set-timezone", "UTC"),
          breakIt: () => void timedatectl("set-timezone", "Europe/Berlin"),
          observe,
        },
      },
      { "on a machine with systemd": () => machine().host },
    );

    test("timedatectl tells the zone", async () => {
      using state = new RealState({ host: machine().host });
      await state.apply([{ type: "timezone", name: "Asia/Tokyo" }]);
      expect(observe()).toEqual(["Asia/Tokyo", "09"]);
    });
  },
);
