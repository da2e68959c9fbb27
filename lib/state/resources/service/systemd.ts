/** systemd. */
import { act, ask, type Machine } from "../shared/command.ts";
import { type ServiceProvider, type ServiceState, unknownService } from "./provider.ts";

const properties = ["Id", "LoadState", "ActiveState", "UnitFileState", "FragmentPath", "NeedDaemonReload"];

export const systemdProvider: ServiceProvider = {
  masks: true,
  isHere: ({ host }) => host.files.stat("/run/systemd/system") !== null,
  async query(name, machine) {
    const shown = await show(name, machine);
    const id = shown.get("Id");
    const isOther = id !== undefined && id !== toUnit(name);
    const state = { ...toServiceState(shown), ...(isOther && { ownName: id }) };
    if (shown.get("UnitFileState") !== "generated") return state;
    // Made from an init script, whose links decide.
    const { exitCode } = await ask(
      { argv: ["systemctl", "is-enabled", "--quiet", "--", toUnit(name)] },
      machine,
      [0, 1],
    );
    return { ...state, enabled: exitCode === 0 };
  },
  async act(verb, name, machine) {
    const shown = await show(name, machine);
    // What systemd has in memory may be older than the unit's file.
    if (shown.get("NeedDaemonReload") === "yes") await act({ argv: ["systemctl", "daemon-reload"] }, machine);
    const isUntilRestart = verb === "unmask" && shown.get("UnitFileState") === "masked-runtime";
    const file = verb === "disable" ? linkedFile(shown, machine) : null;
    const options = isUntilRestart ? ["--runtime"] : [];
    await act({ argv: ["systemctl", verb, ...options, "--", toUnit(name)] }, machine);
    // To disable a unit that is there as a link alone takes the link away: systemd would not know it any more.
    if (file !== null && (await show(name, machine)).get("LoadState") === "not-found")
      await act({ argv: ["systemctl", "link", "--", file] }, machine);
  },
};

/** The file of a unit that is linked to from where systemd looks; null where it is none. */
function linkedFile(shown: ReadonlyMap<string, string>, { host }: Machine): string | null {
  const path = shown.get("FragmentPath") ?? "";
  return path !== "" && host.files.stat(path)?.kind === "symlink" ? host.files.readLink(path) : null;
}

async function show(name: string, machine: Machine): Promise<Map<string, string>> {
  const argv = ["systemctl", "show", `--property=${properties.join(",")}`, "--", toUnit(name)] as const;
  return parseSystemctlShow((await ask({ argv }, machine)).stdout);
}

/** The name of a unit; without a kind it is a service. */
export function toUnit(name: string): string {
  return /\.(service|socket|timer|path|target|mount|automount|swap|slice|scope|device)$/.test(name)
    ? name
    : `${name}.service`;
}

/** Takes the lines of `systemctl show` apart. */
export function parseSystemctlShow(stdout: string): Map<string, string> {
  return new Map([...stdout.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = "", value = ""]) => [name, value]));
}

/** What the properties of a unit say. */
export function toServiceState(shown: ReadonlyMap<string, string>): ServiceState {
  if (shown.get("LoadState") === "not-found") return unknownService;
  const active = shown.get("ActiveState") ?? "";
  const file = shown.get("UnitFileState") ?? "";
  const state: ServiceState = {
    running: ["active", "reloading", "refreshing"].includes(active),
    enabled: file === "enabled" || file === "alias",
    masked: file === "masked" || shown.get("LoadState") === "masked",
  };
  // Without an [Install] section there is nothing to enable; others pull it in.
  const isFixed = ["static", "indirect", "transient"].includes(file);
  return isFixed ? { ...state, fixed: `systemd calls it ${file}` } : state;
}
