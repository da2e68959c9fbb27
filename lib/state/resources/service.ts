/**
 * A service of the machine's init system: systemd, sysvinit or OpenRC.
 *
 * Owns whether it runs, whether it starts with the machine and whether it is masked, as far as these are declared; never
 * its files. With `reload_on` and `restart_on` it follows the changes of others; one that was started just now has read
 * them already and is left alone.
 *
 * @example
 * ```yaml
 * - { id: conf, type: file, path: /etc/nginx/conf.d/site.conf, content: "server {}\n" }
 * - { type: service, name: nginx, running: true, enabled: true, reload_on: [conf] }
 * ```
 */
import { z } from "zod";
import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { JsonObject } from "../../json.ts";
import { defineResourceType, type FireCall, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { openrcProvider } from "./service/openrc.ts";
import type { ServiceProvider, ServiceState, ServiceVerb } from "./service/provider.ts";
import { systemdProvider } from "./service/systemd.ts";
import { sysvinitProvider } from "./service/sysvinit.ts";
import type { Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import { missing } from "./shared/obstacle.ts";
import { refuseConfined } from "./shared/platform.ts";

const names = ["systemd", "openrc", "sysvinit"] as const;
const providers = { systemd: systemdProvider, openrc: openrcProvider, sysvinit: sysvinitProvider } as const;

export const serviceSchema = z
  .strictObject({
    /** Without ".service"; other kinds of units are named in full: "backup.timer". */
    name: z.string().regex(/^[A-Za-z0-9_@][A-Za-z0-9_.:@\\-]{0,200}$/, "must be the name of a service"),
    /** Whether it runs. */
    running: z.boolean().optional(),
    /** Whether it starts with the machine. */
    enabled: z.boolean().optional(),
    /** Whether it can't be started by anybody (systemd). */
    masked: z.boolean().optional(),
    /** Default: the one that runs the machine. */
    provider: z.enum(names).optional(),
  })
  .refine((spec) => spec.running !== undefined || spec.enabled !== undefined || spec.masked !== undefined, {
    message: "needs running, enabled or masked",
  })
  .refine((spec) => spec.masked !== true || (spec.running !== true && spec.enabled !== true), {
    path: ["masked"],
    message: "can't be beside running or enabled",
  });

const servicePriorSchema = serviceSchema.safeExtend({
  /** The machine knew it. */
  was_known: z.boolean().optional(),
});

/** Properties of a `service`, and those of a captured one. */
export type ServiceSpec = z.infer<typeof servicePriorSchema>;

export const serviceResourceType = defineResourceType<ServiceSpec>({
  type: "service",
  summary: "A service that runs, or does not, and starts with the machine.",
  schema: serviceSchema,
  checksWithPrograms: true,
  identity: (spec) => spec.name.replace(/\.service$/, ""),
  async check(spec, host, signal) {
    const provider = open(spec, { host, signal });
    return compare(spec, await provider.query(spec.name, { host, signal }));
  },
  apply: (spec, changes, host, signal) => makeChanges(spec, changes, { host, signal }),
  capture,
  describe: describeChange,
  action: () => "update",
  planning: {
    foresee: (spec, changes, host, signal) => requireDoable(spec, changes, { host, signal }),
    // What a package brings may start by itself.
    restsOn: (spec, changes) => (changes.length === 0 && isToRest(spec) ? ["/"] : []),
    // What is started makes its sockets, folders and data.
    unknownAfterApply: (spec) => (spec.running === true ? "/" : null),
  },
  triggering: {
    triggers: ["reload", "restart"],
    fire,
    faultWith: (spec) =>
      spec.running === true ? null : "A service that follows a trigger must be running: true.",
  },
  removing: {
    priorSchema: servicePriorSchema,
    async extendPrior(prior, spec, host, signal) {
      const now = await capture(spec, host, signal);
      // What a later version declares beside the first was left alone until now.
      const isMore = Object.keys(now.spec).some((property) => !(property in prior.spec));
      return isMore ? { ...prior, spec: { ...now.spec, ...prior.spec } } : prior;
    },
  },
  ending: {
    triggers: ["restart"],
    ownRun: async (spec, host, signal) =>
      host.isConfined ? null : open(spec, { host, signal }).ownRun(spec.name, { host, signal }),
    order: (spec, host, signal) => open(spec, { host, signal }).orderRestart(spec.name, { host, signal }),
  },
});

function isToRest({ running, enabled }: ServiceSpec): boolean {
  return running === false || enabled === false;
}

async function capture(spec: ServiceSpec, host: Host, signal: AbortSignal): Promise<Prior> {
  const provider = open(spec, { host, signal });
  const state = await provider.query(spec.name, { host, signal });
  const prior: JsonObject = { name: state.ownName ?? spec.name };
  // What is masked can neither run again nor be enabled.
  if (spec.masked !== undefined || state.masked) prior["masked"] = state.masked;
  if (spec.running !== undefined || spec.masked === true) prior["running"] = state.running ?? false;
  if (spec.enabled !== undefined && state.fixed === undefined) prior["enabled"] = state.enabled ?? false;
  if (spec.provider) prior["provider"] = spec.provider;
  if (state.running !== null) prior["was_known"] = true;
  return { type: "service", spec: prior };
}

function compare(spec: ServiceSpec, state: ServiceState): Change[] {
  const changes: Change[] = [];
  // It can't come back by itself.
  if (isGone(spec, state)) return changes;
  if (spec.masked !== undefined && spec.masked !== state.masked)
    changes.push({ property: "masked", before: state.masked, after: spec.masked });
  for (const property of ["enabled", "running"] as const) {
    const [before, after] = [state[property], spec[property]];
    // What the machine does not know does not run either.
    if (after === undefined || after === (before ?? false)) continue;
    if (property === "enabled" && state.fixed !== undefined) throw fixed(spec.name, state.fixed);
    changes.push({ property, before, after });
  }
  return changes;
}

const verbs = {
  masked: { true: "mask", false: "unmask" },
  enabled: { true: "enable", false: "disable" },
  running: { true: "start", false: "stop" },
} as const;

/**
 * What is masked can be stopped, but neither enabled, disabled nor started. To disable a service that was asked for by
 * another name takes that name away, so it is stopped before.
 */
const verbOrder: readonly ServiceVerb[] = ["stop", "unmask", "disable", "enable", "start", "mask"];

/**
 * What the machine does not know can be stopped and masked, for it is that already, but neither started nor enabled; what is
 * masked neither, unless the mask goes in the same change.
 */
async function requireKnown(spec: ServiceSpec, changes: readonly Change[], machine: Machine): Promise<void> {
  if (!changes.some(({ property, after }) => property !== "masked" && after === true)) return;
  const { running, masked } = await open(spec, machine).query(spec.name, machine);
  if (running === null) throw missing(`There is no service "${spec.name}".`, { service: spec.name });
  if (!masked || spec.masked === false) return;
  const what = "it can't be started or enabled until it is unmasked (masked: false)";
  throw missing(`The service "${spec.name}" is masked: ${what}.`, { service: spec.name });
}

/** What would fail in the middle, or end the agent for good, is refused before anything is done. */
async function requireDoable(spec: ServiceSpec, changes: readonly Change[], machine: Machine): Promise<void> {
  await requireKnown(spec, changes, machine);
  if (!changes.some(({ property, after }) => property === "running" && after === false)) return;
  if ((await open(spec, machine).ownRun(spec.name, machine)) === null) return;
  throw new OrchestratorError("OWN_SERVICE", {
    message: `The agent itself runs in "${spec.name}": it is not stopped, since nobody would start it again.`,
    details: { service: spec.name },
  });
}

async function makeChanges(spec: ServiceSpec, changes: readonly Change[], machine: Machine): Promise<void> {
  const provider = open(spec, machine);
  await requireDoable(spec, changes, machine);
  const wanted = new Set(verbsFor(changes));
  for (const verb of verbOrder) {
    if (!wanted.has(verb)) continue;
    await provider.act(verb, spec.name, machine);
    // A mask hides that what it is on is not there any more, and that it was enabled before the mask was put on it.
    if (verb !== "unmask" || spec.was_known !== true) continue;
    const state = await provider.query(spec.name, machine);
    if (isGone(spec, state)) return;
    for (const more of verbsFor(compare(spec, state))) wanted.add(more);
  }
}

function verbsFor(changes: readonly Change[]): ServiceVerb[] {
  return changes.flatMap(({ property, after }): ServiceVerb[] => {
    if (property !== "masked" && property !== "enabled" && property !== "running") return [];
    return [verbs[property][after === true ? "true" : "false"]];
  });
}

/** Whether a service that is to come back went since, as with its package. */
function isGone({ was_known }: ServiceSpec, { running }: ServiceState): boolean {
  return was_known === true && running === null;
}

async function fire(
  { trigger, spec, changes }: FireCall<ServiceSpec>,
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const machine = { host, signal };
  await makeChanges(spec, changes, machine);
  if (trigger === "run" || changes.some(({ property }) => property === "running")) return;
  await open(spec, machine).act(trigger, spec.name, machine);
}

function open(spec: ServiceSpec, machine: Machine): ServiceProvider {
  if (/@(?:\.\w+)?$/.test(spec.name)) throw template(spec.name);
  refuseConfined(machine.host, "service");
  const name = spec.provider ?? names.find((each) => providers[each].isHere(machine));
  if (name === undefined) {
    throw missing("This machine has no init system that is known here.", {});
  }
  const provider: ServiceProvider = providers[name];
  if (spec.masked === undefined || provider.masks) return provider;
  throw new OrchestratorError("HOST_ERROR", {
    message: `${name} can't mask services.`,
    details: { provider: name },
  });
}

function fixed(name: string, why: string): OrchestratorError {
  const message = `${name} can't be enabled by itself: ${why}.`;
  return new OrchestratorError("HOST_ERROR", { message, details: { service: name } });
}

/** A template is no unit: there is nothing of it that could run, and its instances are services of their own. */
function template(name: string): OrchestratorError {
  const instance = name.replace("@", "@1");
  const message = `${name} is a template: name an instance of it, such as "${instance}".`;
  return new OrchestratorError("HOST_ERROR", { message, details: { service: name } });
}
