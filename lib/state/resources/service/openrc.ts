/** OpenRC, as on Alpine and Gentoo. */
import type { Host } from "../../../host/host.ts";
import { act, ask } from "../shared/command.ts";
import { actDetached, ownRunOf, usualPidFiles } from "./pid-file.ts";
import { type ServiceProvider, unknownService } from "./provider.ts";

/** Exit codes of `status`: started, stopped, starting, inactive, crashed, and the plain failure of older releases. */
const statusCodes = [0, 1, 3, 8, 16, 32];

export const openrcProvider: ServiceProvider = {
  masks: false,
  // Its programs make /run/openrc on any machine; what it is at is there only where it started the machine.
  isHere: ({ host }) => host.files.stat("/run/openrc/softlevel") !== null,
  async query(name, machine) {
    if (!machine.host.files.stat(`/etc/init.d/${name}`)) return unknownService;
    const { exitCode } = await ask({ argv: ["rc-service", "--", name, "status"] }, machine, statusCodes);
    return { running: exitCode === 0, enabled: runlevelsOf(name, machine.host).length > 0, masked: false };
  },
  async act(verb, name, machine) {
    if (verb === "enable") await act({ argv: ["rc-update", "add", name, "default"] }, machine);
    else if (verb === "disable") {
      await act({ argv: ["rc-update", "del", name, ...runlevelsOf(name, machine.host)] }, machine);
    } else await act({ argv: ["rc-service", "--", name, verb] }, machine);
  },
  ownRun: async (name, { host }) => ownRunOf([...notedPidFiles(name, host), ...usualPidFiles(name)], host),
  orderRestart: (name, machine) => actDetached(["rc-service", "--", name, "restart"], machine),
};

/** The pid files that OpenRC notes: the one that a script names, and those of the daemons that its own start-stop-daemon started. */
function notedPidFiles(name: string, { files }: Host): string[] {
  const read = (path: string): string =>
    files.stat(path)?.kind === "file" ? new TextDecoder().decode(files.readFile(path)) : "";
  const daemons = `/run/openrc/daemons/${name}`;
  const notes = files.stat(daemons)?.kind === "directory" ? files.list(daemons) : [];
  const ofDaemons = notes.map((note) => /^pidfile=(.*)$/m.exec(read(`${daemons}/${note}`))?.[1] ?? "");
  const named = [read(`/run/openrc/options/${name}/pidfile`).trim(), ...ofDaemons];
  return named.filter((path) => path.startsWith("/"));
}

function runlevelsOf(name: string, { files }: Host): string[] {
  const folder = "/etc/runlevels";
  if (!files.stat(folder)) return [];
  return files.list(folder).filter((level) => {
    const path = `${folder}/${level}`;
    return files.stat(path)?.kind === "directory" && files.stat(`${path}/${name}`) !== null;
  });
}
