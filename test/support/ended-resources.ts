/** A resource whose work is ended from outside behind its first, second, third ... call, and what is told of one that is taken back. */
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import type { Host, HostCommand } from "../../lib/host/host.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../lib/state/run/engine.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { refusing } from "../../lib/testing/recording-host.ts";
import { lawFolder, type LawSubject } from "../../lib/testing/resource-laws.ts";
import { snapshot } from "../../lib/testing/snapshot.ts";

/** Makes a machine for a subject. */
export type Begin = () => Promise<Host>;

/** A machine as the subject finds it. */
export function beginning(subject: LawSubject, create: () => Host | Promise<Host>): Begin {
  return async () => {
    const host = await create();
    await subject.prepare?.(host);
    return host;
  };
}

/** Aborts behind each call of an apply and of a removal: what is left then is what a failure there leaves. Tells where it is not. */
export async function endResource(subject: LawSubject, begin: Begin): Promise<string[]> {
  const found: string[] = [];
  for (const work of ["an apply", "a removal"] as const) {
    for (let at = 1; ; at += 1) {
      const aborted = await endWork({ subject, begin, work, at, how: "abort" });
      if (!aborted.isEnded) break;
      if (!aborted.isAborted) continue;
      // Behind the last call there may be nobody who looks: then all is done.
      const failed = await endWork({ subject, begin, work, at, how: "fail" });
      if (aborted.machine === failed.machine) continue;
      const refused = await endWork({ subject, begin, work, at, how: "refuse the next" });
      if (aborted.machine !== refused.machine)
        found.push(
          `${work} aborted at ${aborted.calls.join(", ")}, not as failed at ${failed.calls.join(", ")}`,
        );
    }
  }
  return found;
}

/** Kills who works before and behind each call of an apply and of a removal. Tells where the next try leaves something else than an unbroken one. */
export async function killResource(subject: LawSubject, begin: Begin): Promise<string[]> {
  const found: string[] = [];
  for (const work of ["an apply", "a removal"] as const) {
    const calm = await killWork({ subject, begin, work, at: Infinity, isBehind: false });
    for (const isBehind of [false, true]) {
      for (let at = 1; ; at += 1) {
        const { call, left } = await killWork({ subject, begin, work, at, isBehind });
        if (call === null) break;
        const where = `${work} killed ${isBehind ? "behind" : "before"} ${call}`;
        if (left !== calm.left) found.push(`${where}: the next try leaves ${left}, not ${calm.left}`);
      }
    }
  }
  return found;
}

/** Paths that an apply changes and that the type does not say, neither they nor what is above or below them; those of programs are unknown. */
export async function untoldPaths(subject: LawSubject, begin: Begin): Promise<string[]> {
  const host = await begin();
  const { type, spec } = await workOn(subject, { host, work: "an apply" });
  const calls: string[] = [];
  const watched = watchCalls(host, { before: (call) => void calls.push(call), behind: () => {} });
  const { signal } = new AbortController();
  await type.apply(spec, await type.check(spec, host, signal), watched, signal);
  const { path } = z.object({ path: z.string().optional() }).parse(spec);
  const said = type.paths?.(spec) ?? (path === undefined ? [] : [path]);
  const changed = calls.flatMap((call) => /^(?!run|download)\S+ (\/.*)$/.exec(call)?.slice(1) ?? []);
  const isBelow = (path: string, folder: string): boolean => `${path}/`.startsWith(`${folder}/`);
  const isSaid = (changedPath: string, each: string): boolean =>
    each.startsWith("~")
      ? changedPath.endsWith(each.slice(each.indexOf("/")))
      : isBelow(changedPath, each) || isBelow(each, changedPath);
  return changed.filter((each) => !said.some((one) => isSaid(each, one)));
}

interface Killing {
  subject: LawSubject;
  begin: Begin;
  work: Ending["work"];
  at: number;
  isBehind: boolean;
}

async function killWork({ subject, begin, work, at, isBehind }: Killing): Promise<{
  /** Null = the work was done before. */
  call: string | null;
  left: string;
}> {
  const host = await begin();
  const { type, spec } = await workOn(subject, { host, work });
  const { signal } = new AbortController();
  let calls = 0;
  let call: string | null = null;
  const die = (name: string): never => {
    call ??= name;
    throw refusal();
  };
  let last = "";
  const dying = watchCalls(host, {
    before(name) {
      last = name;
      calls += 1;
      if (call !== null || (!isBehind && calls === at)) die(name);
    },
    behind() {
      if (isBehind && calls === at) die(last);
    },
  });
  try {
    await type.apply(spec, await type.check(spec, host, signal), dying, signal);
  } catch (error) {
    if (call === null) throw error;
  }
  const changes = await type.check(spec, host, signal);
  if (changes.length > 0) await type.apply(spec, changes, host, signal);
  const differs = (await type.check(spec, host, signal)).map(({ property }) => property);
  return { call, left: `${await look(subject, host)} ${differs.join(", ")}` };
}

interface Ending {
  subject: LawSubject;
  begin: Begin;
  work: "an apply" | "a removal";
  at: number;
  /** "abort" and "fail" come behind the call. */
  how: "abort" | "fail" | "refuse the next";
}

async function endWork({ subject, begin, work, at, how }: Ending): Promise<{
  calls: string[];
  isEnded: boolean;
  isAborted: boolean;
  machine: string;
}> {
  const host = await begin();
  const { type, spec } = await workOn(subject, { host, work });
  const controller = new AbortController();
  const { signal } = controller;
  const calls: string[] = [];
  const watched = watchCalls(host, {
    before(call) {
      calls.push(call);
      if (how === "refuse the next" && calls.length === at + 1) throw refusal();
    },
    behind(isWaitedFor) {
      if (calls.length !== at) return;
      if (how === "abort" && (isWaitedFor || !atOnce.has(type.type))) controller.abort(refusal());
      if (how === "fail") throw refusal();
    },
  });
  const changes = await type.check(spec, host, signal);
  try {
    await type.apply(spec, changes, watched, signal);
  } catch {
    // What counts is what was done.
  }
  const isEnded = calls.length >= at;
  return { calls, isEnded, isAborted: signal.aborted, machine: await look(subject, host) };
}

/** Types that go on to the call that follows without waiting in between: nobody else has a turn there, who could end them. */
const atOnce: ReadonlySet<string> = new Set(["package_repository"]);

const refusal = (): OrchestratorError =>
  new OrchestratorError("HOST_ERROR", { message: "It is ended.", details: {} });

const changing: ReadonlySet<string> = new Set([
  "writeFile",
  "makeDirectory",
  "makeSymlink",
  "move",
  "setAttributes",
  "removeFile",
  "removeDirectory",
  "save",
  "restore",
  "run",
  "download",
]);

interface Watcher {
  before(call: string): void;
  /** `isWaitedFor`: others had their turn before it was done. */
  behind(isWaitedFor: boolean): void;
}

/** Tells of each call that changes something before it is made and when it is done. Both may throw. */
function watchCalls<Part extends object>(part: Part, watcher: Watcher): Part {
  const call =
    (name: string, act: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): unknown => {
      const [about] = args;
      const command = about as Partial<HostCommand>;
      if (command.asks === true) return act(...args);
      watcher.before(`${name} ${typeof about === "string" ? about : (command.argv?.[0] ?? "")}`);
      const result = act(...args);
      if (!(result instanceof Promise)) return (watcher.behind(false), result);
      return result.then((value: unknown) => (watcher.behind(true), value));
    };
  return new Proxy(part, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key, target);
      if (key === "files" || key === "backups") return watchCalls(member as object, watcher);
      if (typeof member !== "function") return member;
      const act = (...args: unknown[]): unknown => Reflect.apply(member, target, args);
      if (key === "below") return (...args: unknown[]) => watchCalls(act(...args) as object, watcher);
      return changing.has(String(key)) ? call(String(key), act) : act;
    },
  });
}

/** The type and properties of what is brought about, or of what is come back to. */
async function workOn(subject: LawSubject, { host, work }: { host: Host; work: Ending["work"] }) {
  const types = subject.types ?? resourceTypes;
  const resource = resolve(subject);
  const typeOf = (name: string) => {
    const type = types.get(name);
    if (!type) throw new Error(`There is no type ${name}.`);
    return type;
  };
  const type = typeOf(subject.definition.type);
  if (work === "an apply") return { type, spec: type.schema.parse(resource.spec) };
  const { applied } = await run(subject, { host, mode: "apply", desired: [resource], applied: [] });
  const prior = applied[0]?.prior;
  // Nothing would be done to come back.
  if (!prior)
    return { type: { ...type, check: () => [], apply: () => {} }, spec: type.schema.parse(resource.spec) };
  const back = typeOf(prior.type);
  return { type: back, spec: (back.removing?.priorSchema ?? back.schema).parse(prior.spec) };
}

/** What a plan of a removal says beside what the removal then tells, for people and for machines. */
export async function takeBack(subject: LawSubject, begin: Begin): Promise<{ planned: Json; done: Json }> {
  const host = await begin();
  const desired = [resolve(subject)];
  const { applied } = await run(subject, { host, mode: "apply", desired, applied: [] });
  const kept = JSON.parse(JSON.stringify(applied)) as AppliedResource[];
  const tell = async (mode: RunMode): Promise<Json> => {
    const { results } = await run(subject, { host, mode, desired: [], applied: kept });
    return results.map(({ action, changes }) => ({
      action: action ?? null,
      changes: changes as unknown as Json,
    }));
  };
  return { planned: await tell("plan"), done: await tell("apply") };
}

/** All that is told of taking back a resource that holds a secret, also where the machine refuses it. */
export async function takeBackSecret(subject: LawSubject, begin: Begin): Promise<string> {
  const host = await begin();
  const desired = [resolve(subject, { sensitive: true })];
  const first = await run(subject, { host, mode: "apply", desired, applied: [] });
  const { applied } = first;
  const refused = refusing(host, subject.secret ?? "");
  const told = [
    first,
    await run(subject, { host, mode: "plan", desired: [], applied }),
    await run(subject, { host: refused, mode: "apply", desired: [], applied }),
    await run(subject, { host, mode: "apply", desired: [], applied }),
  ];
  return JSON.stringify(told.map(({ results, status }) => ({ status, results })));
}

function resolve(
  { definition, types = resourceTypes }: LawSubject,
  common: JsonObject = {},
): ResolvedResource {
  const resolution = resolveResource({ ...definition, ...common }, { module: "laws", types });
  if (!resolution.ok) throw new Error("The definition is not valid.");
  return resolution.resource;
}

function run(
  { types = resourceTypes }: LawSubject,
  options: { host: Host; mode: RunMode; desired: ResolvedResource[]; applied: AppliedResource[] },
): Promise<StateRunResult> {
  const { signal } = new AbortController();
  return runState({ ...options, types, clock: systemClock, signal, timeoutMs: 60_000 });
}

async function look(subject: LawSubject, host: Host): Promise<string> {
  const observed = (await subject.observe?.(host)) ?? null;
  return JSON.stringify({ files: snapshot(host, lawFolder), observed } as JsonObject);
}
