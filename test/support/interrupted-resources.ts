/** A resource whose machine fails at the first, second, third ... call, before it did anything or behind that: what is left, and the next try. */
import { systemClock } from "../../lib/clock.ts";
import type { Host } from "../../lib/host/host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../lib/state/run/engine.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { lawFolder, type LawSubject } from "../../lib/testing/resource-laws.ts";
import { snapshot } from "../../lib/testing/snapshot.ts";
import { failCall, type FailingHost } from "./failing-host.ts";
import { declare } from "./state-fixture.ts";

/** What was not as it should be, and which call had failed. */
export type Interruption = string;

class Machine {
  readonly #subject: Pick<LawSubject, "types" | "observe">;
  readonly #host: Host;
  #applied: AppliedResource[] = [];

  constructor(subject: Pick<LawSubject, "types" | "observe">, host: Host) {
    this.#subject = subject;
    this.#host = host;
  }

  get applied(): readonly AppliedResource[] {
    return this.#applied;
  }

  async run(mode: RunMode, desired: readonly ResolvedResource[], host = this.#host): Promise<StateRunResult> {
    const result = await runState({
      mode,
      types: this.#subject.types ?? resourceTypes,
      desired: [...desired],
      applied: this.#applied,
      host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
    });
    // As an agent keeps it.
    if (mode === "apply") this.#applied = JSON.parse(JSON.stringify(result.applied)) as AppliedResource[];
    return result;
  }

  async look(): Promise<string> {
    const files = snapshot(this.#host, lawFolder);
    const observed = (await this.#subject.observe?.(this.#host)) ?? null;
    return JSON.stringify({ files, observed } as JsonObject);
  }

  failing(at: number): FailingHost {
    return failCall(this.#host, at);
  }
}

/** Fails each call of a plan, an apply and a removal once. */
export async function interruptResource(
  subject: LawSubject,
  create: () => Host | Promise<Host>,
): Promise<Interruption[]> {
  const resolution = resolveResource(subject.definition, {
    module: "laws",
    types: subject.types ?? resourceTypes,
  });
  if (!resolution.ok) throw new Error("The definition is not valid.");
  const desired = [resolution.resource];
  const begin = async (): Promise<Machine> => {
    const host = await create();
    await subject.prepare?.(host);
    return new Machine(subject, host);
  };
  const calm = await begin();
  const before = await calm.look();
  await calm.run("apply", desired);
  const made = await calm.look();
  const found: Interruption[] = [];
  for (const interrupt of [interruptPlan, interruptApply, interruptRemoval]) {
    let at = 0;
    while ((await interrupt({ begin, desired, before, made, at, found })) !== null) at += 1;
  }
  return found;
}

/** A resource whose definition changes, and what is the case on the machine besides. */
export type ChangedSubject = Pick<LawSubject, "prepare" | "observe"> & {
  versions: readonly [from: JsonObject, to: JsonObject];
  /** Whether both leave the same on the machine. Default: false. */
  isAlike?: boolean;
};

/**
 * Fails each call of the apply that brings a machine from one version of a resource to the other, once. Whatever follows then - the same
 * again, the first version, a removal - it leaves what it leaves where nothing fails.
 */
export async function interruptChange(
  subject: ChangedSubject,
  create: () => Host | Promise<Host>,
): Promise<Interruption[]> {
  const [from, to] = subject.versions.map((definition) => declare([{ id: "it", ...definition }]));
  if (!from || !to) throw new Error("There are two versions.");
  const begin = async (): Promise<Machine> => {
    const host = await create();
    await subject.prepare?.(host);
    return new Machine(subject, host);
  };
  const applied = async (machine: Machine, desired: readonly ResolvedResource[]): Promise<string> => {
    const result = await machine.run("apply", desired);
    return result.status === "succeeded" ? machine.look() : told(result);
  };
  const calm = await begin();
  const seen = { none: await calm.look(), from: await applied(calm, from), to: await applied(calm, to) };
  const found: Interruption[] = [];
  const expectSeen = (what: string, is: string, wanted: string): void => {
    if (is !== wanted) found.push(`${what}: ${is} instead of ${wanted}`);
  };
  if ((seen.from === seen.to) !== (subject.isAlike ?? false))
    found.push(`the versions leave ${seen.from}, ${seen.to}`);
  const back = await calm.run("apply", from);
  if (back.status !== "succeeded") found.push(`back to the first version: ${told(back)}`);
  expectSeen("a removal after both", await applied(calm, []), seen.none);
  for (const [follower, desired] of Object.entries({
    "the same again": to,
    "the first version": from,
    "a removal": [],
  })) {
    for (let at = 0, isOver = false; !isOver; at += 1) {
      const machine = await begin();
      await machine.run("apply", from);
      const failing = machine.failing(at);
      const { status } = await machine.run("apply", to, failing.host);
      isOver = failing.failed() === null;
      const which = `${follower} after ${failing.failed()} (${status})`;
      const next = await applied(machine, desired);
      if (desired === to) expectSeen(which, next, seen.to);
      // How much of the other version is left depends on where it ended.
      else if (desired === from && !next.startsWith("{")) found.push(`${which}: ${next}`);
      expectSeen(`a removal after ${which}`, await applied(machine, []), seen.none);
    }
  }
  return found;
}

interface Trial {
  begin: () => Promise<Machine>;
  desired: readonly ResolvedResource[];
  /** How the machine looked before anything was applied, and after. */
  before: string;
  made: string;
  at: number;
  found: Interruption[];
}

/** Gives the call that failed; null where none did, because there are not so many. */
async function interruptPlan({ begin, desired, before, made, at, found }: Trial): Promise<string | null> {
  const machine = await begin();
  const failing = machine.failing(at);
  await machine.run("plan", desired, failing.host);
  const which = failing.failed();
  if (which === null) return null;
  if ((await machine.look()) !== before) found.push(`${which} of a plan: it changed the machine`);
  const next = await machine.run("apply", desired);
  if (next.status !== "succeeded" || (await machine.look()) !== made)
    found.push(`${which} of a plan: an apply after it ${told(next)}`);
  return which;
}

async function interruptApply({ begin, desired, before, made, at, found }: Trial): Promise<string | null> {
  const machine = await begin();
  const failing = machine.failing(at);
  await machine.run("apply", desired, failing.host);
  const which = failing.failed();
  if (which === null) return null;
  const next = await machine.run("apply", desired);
  if (next.status !== "succeeded") found.push(`${which} of an apply: the next ${told(next)}`);
  if ((await machine.look()) !== made)
    found.push(
      `${which} of an apply: the next left something else: ${await machine.look()} instead of ${made}`,
    );
  const removal = await machine.run("apply", []);
  if (removal.status !== "succeeded" || (await machine.look()) !== before)
    found.push(
      `${which} of an apply: a removal ${told(removal)} and left ${await machine.look()} instead of ${before}`,
    );
  return which;
}

async function interruptRemoval({ begin, desired, before, at, found }: Trial): Promise<string | null> {
  const machine = await begin();
  await machine.run("apply", desired);
  const failing = machine.failing(at);
  const result = await machine.run("apply", [], failing.host);
  const which = failing.failed();
  if (which === null) return null;
  const next = await machine.run("apply", []);
  if (next.status !== "succeeded" || machine.applied.length > 0)
    found.push(`${which} of a removal (${told(result)}): the next ${told(next)}`);
  if ((await machine.look()) !== before)
    found.push(`${which} of a removal (${told(result)}): left ${await machine.look()} instead of ${before}`);
  return which;
}

function told({ status, results }: StateRunResult): string {
  return `${status}: ${results.map(({ outcome, message = "" }) => `${outcome} ${message}`).join(", ")}`;
}
