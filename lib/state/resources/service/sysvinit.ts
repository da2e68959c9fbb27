/** Scripts below /etc/init.d, with links below /etc/rc?.d, as Debian does without systemd. */
import type { Host } from "../../../host/host.ts";
import { act, ask } from "../shared/command.ts";
import { actDetached, ownRunOf, usualPidFiles } from "./pid-file.ts";
import { type ServiceProvider, unknownService } from "./provider.ts";

/** The runlevels in which a machine does its work. */
const runlevels = ["2", "3", "4", "5"];

/** Exit codes of `status`: 0 runs, 1 to 3 does not. Others are errors. */
const statusCodes = [0, 1, 2, 3];

export const sysvinitProvider: ServiceProvider = {
  masks: false,
  isHere: ({ host }) => host.files.stat("/etc/init.d") !== null,
  async query(name, machine) {
    if (!machine.host.files.stat(`/etc/init.d/${name}`)) return unknownService;
    const { exitCode } = await ask({ argv: ["service", name, "status"] }, machine, statusCodes);
    return { running: exitCode === 0, enabled: isEnabled(name, machine.host), masked: false };
  },
  async act(verb, name, machine) {
    if (verb === "enable") {
      // Makes the links where there are none; those that stand it leaves.
      await act({ argv: ["update-rc.d", name, "defaults"] }, machine);
    }
    if (verb === "enable" || verb === "disable") {
      await act({ argv: ["update-rc.d", name, verb] }, machine);
      return;
    }
    await act({ argv: ["service", name, verb] }, machine);
  },
  ownRun: async (name, { host }) => ownRunOf(usualPidFiles(name), host),
  orderRestart: (name, machine) => actDetached(["service", name, "restart"], machine),
};

function isEnabled(name: string, { files }: Host): boolean {
  return runlevels.some((level) => {
    const folder = `/etc/rc${level}.d`;
    return (
      files.stat(folder) !== null &&
      files.list(folder).some((link) => /^S\d\d/.test(link) && link.slice(3) === name)
    );
  });
}
