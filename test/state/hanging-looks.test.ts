/** A machine that answers no question, at each moment in which a run asks one: the question has an end, and the run goes on. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { resolveResource } from "../../lib/state/definition.ts";
import { defineResourceType, type Prior, type ResourceType } from "../../lib/state/resource-type.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { createMachine, StateFixture } from "../support/state-fixture.ts";

type Step = "check" | "capture" | "apply";

interface Spec {
  value: string;
}

/** A thing whose type asks the machine, which does not answer at the n-th time of one step. */
class Thing {
  value = "before";
  /** Whether an apply makes it first and then fails, or fails at once. */
  failure: "behind its change" | "before its change" | null = null;
  hangsAt: readonly [Step, number] | null = null;
  readonly types = new Map<string, ResourceType>();
  readonly #asked = { check: 0, capture: 0, apply: 0 };
  #hang = (): void => {};

  /** @param checksWithPrograms - Whether its type says that a check starts programs; one that does not may wait, too. */
  constructor(checksWithPrograms: boolean) {
    const type = defineResourceType<Spec>({
      type: "thing",
      summary: "A thing.",
      schema: z.strictObject({ value: z.string() }),
      identity: () => "thing",
      checksWithPrograms,
      check: async ({ value }, _host, signal) => {
        await this.#ask("check", signal);
        return this.value === value ? [] : [{ property: "value", before: this.value, after: value }];
      },
      apply: async ({ value }, _changes, host, signal) => {
        await this.#ask("apply", signal);
        host.files.writeFile("/trace", Buffer.from(value), { mode: 0o600 });
        if (this.failure !== "before its change") this.value = value;
        if (this.failure) throw new Error("no");
      },
      capture: async (_spec, _host, signal): Promise<Prior> => {
        await this.#ask("capture", signal);
        return { type: "thing", spec: { value: this.value } };
      },
      describe: () => "",
    });
    this.types.set("thing", type as ResourceType);
  }

  /** Begins to count anew, and hangs where it is told to. */
  hang(at: readonly [Step, number]): Promise<void> {
    Object.assign(this.#asked, { check: 0, capture: 0, apply: 0 });
    this.hangsAt = at;
    return new Promise((resolve) => (this.#hang = resolve));
  }

  declare(value: string): ResolvedResource[] {
    const definition = { id: "t", type: "thing", value, timeout_seconds: 60 };
    const resolution = resolveResource(definition, { module: "m", types: this.types });
    if (!resolution.ok) throw new Error(JSON.stringify(resolution.issues));
    return [resolution.resource];
  }

  async #ask(step: Step, signal: AbortSignal): Promise<void> {
    this.#asked[step] += 1;
    await Promise.resolve();
    if (this.hangsAt?.[0] !== step || this.hangsAt[1] !== this.#asked[step]) return;
    this.#hang();
    await new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  }
}

interface Row {
  at: readonly [Step, number];
  /** How long the question lasts. */
  seconds: number;
  failure?: Thing["failure"];
  /** What the result says. */
  outcome: string;
  /** Whether the thing is noted as ours then. */
  isOurs: boolean;
}

const desired: Record<string, Row> = {
  "the first check": { at: ["check", 1], seconds: 60, outcome: "changed", isOurs: true },
  "what stands, for all at once": { at: ["capture", 1], seconds: 60, outcome: "changed", isOurs: true },
  "the check at its turn": { at: ["check", 2], seconds: 60, outcome: "failed", isOurs: false },
  "what stands, at its turn": { at: ["capture", 2], seconds: 60, outcome: "failed", isOurs: false },
  "the change itself": { at: ["apply", 1], seconds: 60, outcome: "failed", isOurs: false },
  "the check behind the change": { at: ["check", 3], seconds: 60, outcome: "failed", isOurs: true },
  "what came of a change that failed": {
    at: ["capture", 3],
    seconds: 30,
    failure: "before its change",
    outcome: "failed",
    isOurs: true,
  },
};

const removed: Record<string, Row> = {
  "the first check": { at: ["check", 1], seconds: 60, outcome: "changed", isOurs: false },
  "the check at its turn": { at: ["check", 2], seconds: 60, outcome: "failed", isOurs: true },
  "the change itself": { at: ["apply", 1], seconds: 60, outcome: "failed", isOurs: true },
  "the check of a removal that failed": {
    at: ["check", 3],
    seconds: 30,
    failure: "behind its change",
    outcome: "failed",
    isOurs: true,
  },
  "what a removal that failed left": {
    at: ["capture", 1],
    seconds: 30,
    failure: "behind its change",
    outcome: "failed",
    isOurs: true,
  },
};

async function runHanging(thing: Thing, state: StateFixture, { at, seconds, failure = null }: Row) {
  const clock = state.clock as FakeClock;
  const hanging = thing.hang(at);
  thing.failure = failure;
  let isOver = false;
  const wanted = state.applied.length > 0 ? [] : thing.declare("after");
  const running = state.run("apply", wanted, { types: thing.types, timeoutMs: 3_600_000 });
  void running.then(() => (isOver = true));
  await hanging;
  await clock.advance(seconds * 1000 - 1);
  expect(isOver).toBe(false);
  await clock.advance(1);
  const { results, status } = await running;
  expect(clock.pendingTimers).toBe(0);
  expect(status).not.toBe("timed_out");
  return results.map(({ outcome }) => outcome);
}

describe.each([
  ["a type that checks with programs", true],
  ["a type that does not say so", false],
])("%s", (_name, checksWithPrograms) => {
  // Without programs other checks are made in between.
  const ofThese = ([what]: [string, Row]): boolean => checksWithPrograms || what === "the first check";

  test.each(Object.entries(desired).filter(ofThese))("%s", async (_what, row) => {
    const thing = new Thing(checksWithPrograms);
    const state = new StateFixture(createMachine(), new FakeClock());
    expect(await runHanging(thing, state, row)).toEqual([row.outcome]);
    expect(state.applied.length > 0).toBe(row.isOurs);
  });

  test.each(Object.entries(removed).filter(ofThese))("of a removal: %s", async (_what, row) => {
    const thing = new Thing(checksWithPrograms);
    const state = new StateFixture(createMachine(), new FakeClock());
    await state.run("apply", thing.declare("after"), { types: thing.types });
    expect(await runHanging(thing, state, row)).toEqual([row.outcome]);
    expect(state.applied.length > 0).toBe(row.isOurs);
  });
});
