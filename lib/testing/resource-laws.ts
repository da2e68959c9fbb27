/** What every type of resource keeps to, as cases for any test runner. */
import { systemClock } from "../clock.ts";
import type { Host } from "../host/host.ts";
import type { Json, JsonObject } from "../json.ts";
import { resolveResource } from "../state/definition.ts";
import type { ResourceType, ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { resourceTypes } from "../state/resources/index.ts";
import type { AppliedResource } from "../state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../state/run/engine.ts";
import type { RunMode } from "../state/run/state-run.ts";
import { assertEqual, assertThat } from "./expect.ts";
import { orderCalls, recordCalls, type RecordedCall, refusing } from "./recording-host.ts";
import { snapshot } from "./snapshot.ts";

/** A resource to try the laws on. */
export interface LawSubject {
  /** A definition as a module writes it, about something below `folder`. */
  definition: JsonObject & { type: string };
  /** Types of resources to know. Default: all that ship with the package. */
  types?: ResourceTypes;
  /** Puts the machine into a state that differs from the definition. Default: an empty folder. */
  prepare?(host: Host): void | Promise<void>;
  /** Changes from outside what the resource made. */
  breakIt(host: Host): void | Promise<void>;
  /** What the resource is about where that is not below `folder`: users, packages, what the kernel was told. */
  observe?(host: Host): Json | Promise<Json>;
  /** A part of a value in the definition that must not be seen when the resource is sensitive. */
  secret?: string;
}

/** One law on one subject. */
export interface LawCase {
  /** A sentence about behaviour. */
  name: string;
  /** Resolves when the law is kept, rejects with what was seen otherwise. */
  run(): Promise<void>;
}

/** Where subjects live on the host. */
export const lawFolder = "/work";

/** The laws for a subject; each gets a host of its own from `create`, with an empty {@link lawFolder}. */
export function resourceLaws(subject: LawSubject, create: () => Host | Promise<Host>): LawCase[] {
  return laws.map(({ name, keep }) => ({
    name,
    async run() {
      const host = await create();
      await subject.prepare?.(host);
      await keep(new Trial(subject, host));
    },
  }));
}

/** A subject on a machine of its own. */
class Trial {
  readonly subject: LawSubject;
  readonly host: Host;
  readonly calls: RecordedCall[] = [];
  readonly signal: AbortSignal = new AbortController().signal;

  constructor(subject: LawSubject, host: Host) {
    this.subject = subject;
    this.host = recordCalls(host, (call) => this.calls.push(call));
  }

  get types(): ResourceTypes {
    return this.subject.types ?? resourceTypes;
  }

  get type(): ResourceType {
    const type = this.types.get(this.subject.definition.type);
    assertThat(type !== undefined, "the type is registered");
    return type;
  }

  resource(common: JsonObject = {}): ResolvedResource {
    const resolution = resolveResource(
      { ...this.subject.definition, ...common },
      { module: "laws", types: this.types },
    );
    assertThat(resolution.ok, "the definition is valid");
    return resolution.resource;
  }

  spec(): unknown {
    return this.type.schema.parse(this.resource().spec);
  }

  run(
    mode: RunMode,
    desired: ResolvedResource[],
    { applied = [], host = this.host }: { applied?: AppliedResource[]; host?: Host } = {},
  ): Promise<StateRunResult> {
    return runState({
      mode,
      types: this.types,
      desired,
      applied,
      host,
      clock: systemClock,
      signal: this.signal,
      timeoutMs: 60_000,
    });
  }

  async apply(applied: AppliedResource[] = []): Promise<StateRunResult> {
    const result = await this.run("apply", [this.resource()], { applied });
    assertEqual(result.status, "succeeded", `the apply (${result.results[0]?.message ?? ""})`);
    return result;
  }

  /** The part of the machine that the subject may have changed. */
  async look(): Promise<JsonObject> {
    const files = snapshot(this.host, lawFolder);
    return this.subject.observe ? { files, observed: await this.subject.observe(this.host) } : { files };
  }

  outcome({ results }: StateRunResult): unknown {
    return results.map(({ outcome, action, changes }) => ({ outcome, action, changes }));
  }
}

const laws: { name: string; keep(trial: Trial): Promise<void> }[] = [
  {
    name: "looking changes nothing",
    async keep(trial) {
      const before = await trial.look();
      await trial.run("plan", [trial.resource()]);
      await trial.run("check", [trial.resource()]);
      assertEqual(
        trial.calls.filter(({ call }) => call !== "ask"),
        [],
        "calls",
      );
      assertEqual(await trial.look(), before, "the machine");
    },
  },
  {
    name: "what was applied is in sync",
    async keep(trial) {
      const before = await trial.type.check(trial.spec(), trial.host, trial.signal);
      assertThat(before.length > 0, "the subject differs before it is applied");
      await trial.apply();
      assertEqual(await trial.type.check(trial.spec(), trial.host, trial.signal), [], "changes after");
    },
  },
  {
    name: "an apply does what the plan said",
    async keep(trial) {
      const plan = await trial.run("plan", [trial.resource()]);
      const expected = plan.results.map(({ action, changes }) => ({ outcome: "changed", action, changes }));
      assertEqual(trial.outcome(await trial.apply()), expected, "results");
    },
  },
  {
    name: "a second apply changes nothing",
    async keep(trial) {
      const first = await trial.apply();
      const after = await trial.look();
      trial.calls.length = 0;
      const second = await trial.apply(first.applied);
      assertEqual(second.results[0]?.outcome, "unchanged", "outcome");
      assertEqual(
        trial.calls.filter(({ call }) => call !== "ask"),
        [],
        "calls",
      );
      assertEqual(await trial.look(), after, "the machine");
    },
  },
  {
    name: "a change made from outside is found and made good",
    async keep(trial) {
      const first = await trial.apply();
      const made = await trial.look();
      await trial.subject.breakIt(trial.host);
      const drift = await trial.run("check", [trial.resource()]);
      assertEqual(drift.results[0]?.outcome, "would_change", "drift");
      await trial.apply(first.applied);
      assertEqual(await trial.look(), made, "the machine");
    },
  },
  {
    name: "removing brings back what stood before, as its plan says",
    async keep(trial) {
      const before = await trial.look();
      const { applied } = await trial.apply();
      // What comes back must come back after a restart too.
      const kept = JSON.parse(JSON.stringify(applied)) as AppliedResource[];
      const plan = await trial.run("plan", [], { applied: kept });
      assertEqual(
        plan.results.map(({ outcome, action }) => [outcome, action]),
        [["would_change", "remove"]],
        "plan",
      );
      const removal = await trial.run("apply", [], { applied: kept });
      assertEqual(
        removal.results.map(({ outcome, action }) => [outcome, action]),
        [["changed", "remove"]],
        "removal",
      );
      assertEqual(removal.applied, [], "what is applied");
      assertEqual(await trial.look(), before, "the machine");
    },
  },
  {
    name: "what was as desired before us stays when it is removed",
    async keep(trial) {
      await trial.apply();
      const made = await trial.look();
      const { applied } = await trial.apply();
      const removal = await trial.run("apply", [], { applied });
      assertEqual(removal.results[0]?.outcome, "unchanged", "outcome");
      assertEqual(await trial.look(), made, "the machine");
    },
  },
  {
    name: "an abort stops it within one call",
    async keep(trial) {
      const changes = await trial.type.check(trial.spec(), trial.host, trial.signal);
      const calls: RecordedCall[] = [];
      const controller = new AbortController();
      const aborting = recordCalls(trial.host, (call) => (calls.push(call), controller.abort()));
      await settle(() => trial.type.apply(trial.spec(), changes, aborting, controller.signal));
      assertThat(calls.length <= 1, `it made ${calls.length} calls`);
      calls.length = 0;
      await settle(() => trial.type.apply(trial.spec(), changes, aborting, controller.signal));
      assertEqual(calls, [], "calls with a signal that was aborted before");
    },
  },
  {
    name: "a machine that refuses is a failure that leaves what stood there",
    async keep(trial) {
      const before = await trial.look();
      const result = await trial.run("apply", [trial.resource()], { host: refusing(trial.host, "no") });
      assertEqual([result.status, result.results[0]?.code], ["failed", "HOST_ERROR"], "result");
      assertEqual(await trial.look(), before, "the machine");
    },
  },
  {
    name: "copies of what stood are durable before it is changed, and what was done before that is told",
    async keep(trial) {
      const { host, order } = orderCalls(trial.host);
      assertEqual((await trial.run("apply", [trial.resource()], { host })).status, "succeeded", "the apply");
      const [saved, first] = [order.indexOf("save"), order.indexOf("barrier")];
      // What is saved once more right before the change is the copy that is durable by then.
      const isSafe = saved === -1 || order[saved + 1] === "barrier";
      const isTold = first < order.indexOf("change") && order.at(-1) === "barrier";
      assertThat(isSafe && isTold, `barriers before changes and at the end: ${order.join(", ")}`);
    },
  },
  {
    name: "a secret is in no change, message or line for people",
    async keep(trial) {
      const { secret } = trial.subject;
      if (secret === undefined) return;
      const desired = [trial.resource({ sensitive: true })];
      const plan = await trial.run("plan", desired);
      const refused = await trial.run("apply", desired, { host: refusing(trial.host, secret) });
      const applied = await trial.run("apply", desired);
      assertEqual(applied.status, "succeeded", "the apply");
      await trial.subject.breakIt(trial.host);
      const drift = await trial.run("check", desired);
      const results = [plan, refused, applied, drift].flatMap((run) => run.results);
      const lines = results.flatMap((result) => result.changes.map((change) => trial.type.describe(change)));
      assertThat(!JSON.stringify([results, lines]).includes(secret), "the secret is nowhere");
    },
  },
  {
    name: "its properties survive JSON",
    async keep(trial) {
      const spec = trial.spec();
      const again = trial.type.schema.parse(JSON.parse(JSON.stringify(spec)));
      assertEqual(again, spec, "the spec");
    },
  },
  {
    name: "any change can be said in one line",
    async keep(trial) {
      const values: Json[] = [null, true, 0, "", "x".repeat(10_000), ["a"], { a: 1 }, "two\nlines"];
      for (const value of values) {
        const line = trial.type.describe({ property: "unheard_of", before: value, after: value });
        assertThat(
          line.length > 0 && line.length <= 300 && !line.includes("\n"),
          `a line for ${JSON.stringify(value)}`,
        );
      }
    },
  },
];

/** An abort may be an error or an early return; what counts is what was done. */
async function settle(act: () => unknown): Promise<void> {
  try {
    await act();
  } catch {
    return;
  }
}
