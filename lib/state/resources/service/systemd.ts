/** systemd. */
import { OrchestratorError } from "../../../errors.ts";
import { act, ask, type Machine } from "../shared/command.ts";
import { type ServiceProvider, type ServiceState, unknownService } from "./provider.ts";

const properties = [
  "Id",
  "LoadState",
  "ActiveState",
  "SubState",
  "Type",
  "NRestarts",
  "Result",
  "ExecMainStartTimestampMonotonic",
  "UnitFileState",
  "FragmentPath",
  "NeedDaemonReload",
];

/** What tells which group a unit has, and its runs apart; systemd before 232 has no InvocationID. */
const runProperties = ["ControlGroup", "InvocationID", "ActiveEnterTimestampMonotonic"] as const;

/** A service that systemd restarted by itself less than this time ago is looked at again before it counts as running, seconds. */
const steadySeconds = 5;

/** How long one that was started just now, and does not tell when it is ready, is given to fail, seconds. */
const settleSeconds = 1;

/** Kinds of services of which systemd takes a start for done before they have shown that they run. */
const unprovenTypes = ["simple", "exec", "idle", "forking"];

export const systemdProvider: ServiceProvider = {
  masks: true,
  isHere: ({ host }) => host.files.stat("/run/systemd/system") !== null,
  async query(name, machine) {
    const shown = await showSteady(name, machine);
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
    await readAnew(shown, machine);
    const isUntilRestart = verb === "unmask" && shown.get("UnitFileState") === "masked-runtime";
    const file = verb === "disable" ? linkedFile(shown, machine) : null;
    const options = isUntilRestart ? ["--runtime"] : [];
    // What waits to be restarted would keep a start waiting for as long.
    const isWaiting = verb === "start" && shown.get("SubState") === "auto-restart";
    await act({ argv: ["systemctl", isWaiting ? "restart" : verb, ...options, "--", toUnit(name)] }, machine);
    if (verb === "start" || verb === "restart") await requireUp(name, machine);
    // To disable a unit that is there as a link alone takes the link away: systemd would not know it any more.
    if (file !== null && (await show(name, machine)).get("LoadState") === "not-found")
      await act({ argv: ["systemctl", "link", "--", file] }, machine);
  },
  async ownRun(name, machine) {
    const own = machine.host.ownProcess?.();
    if (!own || own.cgroups.length === 0) return null;
    const argv = ["systemctl", "show", `--property=${runProperties.join(",")}`, "--", toUnit(name)] as const;
    const shown = parseSystemctlShow((await ask({ argv }, machine)).stdout);
    // Not by name: it may be another name of the unit, or a slice that it is in. Below its group the agent has groups for programs.
    const group = shown.get("ControlGroup") ?? "";
    if (group === "" || !own.cgroups.some((path) => path === group || path.startsWith(`${group}/`)))
      return null;
    const [, invocation, activeSince] = runProperties.map((property) => shown.get(property) ?? "");
    return invocation || activeSince || null;
  },
  async orderRestart(name, machine) {
    await readAnew(await show(name, machine), machine);
    await act({ argv: ["systemctl", "restart", "--no-block", "--", toUnit(name)] }, machine);
  },
};

/** What systemd has in memory may be older than the unit's file. */
async function readAnew(shown: ReadonlyMap<string, string>, machine: Machine): Promise<void> {
  if (shown.get("NeedDaemonReload") === "yes") await act({ argv: ["systemctl", "daemon-reload"] }, machine);
}

/** The file of a unit that is linked to from where systemd looks; null where it is none. */
function linkedFile(shown: ReadonlyMap<string, string>, { host }: Machine): string | null {
  const path = shown.get("FragmentPath") ?? "";
  return path !== "" && host.files.stat(path)?.kind === "symlink" ? host.files.readLink(path) : null;
}

async function show(name: string, machine: Machine): Promise<Map<string, string>> {
  const argv = ["systemctl", "show", `--property=${properties.join(",")}`, "--", toUnit(name)] as const;
  return parseSystemctlShow((await ask({ argv }, machine)).stdout);
}

/** What stands, for a service that systemd has to restart again and again too: it runs for a moment at a time. */
async function showSteady(name: string, machine: Machine): Promise<Map<string, string>> {
  const shown = await show(name, machine);
  const begun = Number(shown.get("ExecMainStartTimestampMonotonic") ?? 0) / 1_000_000;
  if (shown.get("ActiveState") !== "active" || restartsOf(shown) === 0 || begun === 0) return shown;
  const uptime = Number(new TextDecoder().decode(machine.host.files.readFile("/proc/uptime")).split(" ")[0]);
  if (uptime - begun > steadySeconds) return shown;
  const later = await showLater(name, steadySeconds, machine);
  return restartsOf(later) > restartsOf(shown) ? later.set("SubState", "auto-restart") : later;
}

/** One program, so that it is one question: its answer is of a later time. */
async function showLater(name: string, seconds: number, machine: Machine): Promise<Map<string, string>> {
  const argv = ["systemctl", "show", `--property=${properties.join(",")}`, "--", toUnit(name)];
  const script = 'sleep "$1"; shift; exec "$@"';
  const { stdout } = await ask({ argv: ["sh", "-c", script, "sh", String(seconds), ...argv] }, machine);
  return parseSystemctlShow(stdout);
}

/** `NOT_CONVERGED` where a service that was started just now has ended, or was restarted, within a moment. */
async function requireUp(name: string, machine: Machine): Promise<void> {
  const started = await show(name, machine);
  if (!unprovenTypes.includes(started.get("Type") ?? "")) return;
  const isUp = (shown: ReadonlyMap<string, string>): boolean =>
    toServiceState(shown).running === true && restartsOf(shown) === restartsOf(started);
  const shown = isUp(started) ? await showLater(name, settleSeconds, machine) : started;
  if (isUp(shown)) return;
  const state = `${shown.get("ActiveState")} (${shown.get("SubState")})`;
  const said = [state, `result ${shown.get("Result")}`, `${restartsOf(shown)} restarts`].join(", ");
  throw new OrchestratorError("NOT_CONVERGED", {
    message: `The service "${name}" does not stay up: ${said}.`,
    details: { properties: ["running"] },
  });
}

function restartsOf(shown: ReadonlyMap<string, string>): number {
  return Number(shown.get("NRestarts") ?? 0);
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
    running:
      ["active", "reloading", "refreshing"].includes(active) && shown.get("SubState") !== "auto-restart",
    enabled: file === "enabled" || file === "alias",
    masked: file === "masked" || shown.get("LoadState") === "masked",
  };
  // Without an [Install] section there is nothing to enable; others pull it in.
  const isFixed = ["static", "indirect", "transient"].includes(file);
  return isFixed ? { ...state, fixed: `systemd calls it ${file}` } : state;
}
