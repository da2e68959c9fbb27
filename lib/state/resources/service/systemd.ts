/** systemd. */
import { act, ask, type Machine } from "../shared/command.ts";
import { type ServiceProvider, type ServiceState, unknownService } from "./provider.ts";

const properties = ["LoadState", "ActiveState", "UnitFileState", "NeedDaemonReload"];

export const systemdProvider: ServiceProvider = {
  masks: true,
  isHere: ({ host }) => host.files.stat("/run/systemd/system") !== null,
  async query(name, machine) {
    const shown = await show(name, machine);
    const state = toServiceState(shown);
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
    // What systemd has in memory may be older than the unit's file.
    const stale = (await show(name, machine)).get("NeedDaemonReload") === "yes";
    if (stale) await act({ argv: ["systemctl", "daemon-reload"] }, machine);
    await act({ argv: ["systemctl", verb, "--", toUnit(name)] }, machine);
  },
};

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
