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

/** What was not as it should be, and which call had failed. */
export type Interruption = string;

class Machine {
  readonly #subject: LawSubject;
  readonly #host: Host;
  #applied: AppliedResource[] = [];

  constructor(subject: LawSubject, host: Host) {
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
