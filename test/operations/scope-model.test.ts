/**
 * Whatever is assigned, named, pinned, rolled out and removed, in any order: the machine has what a model of a few lines says, and so
 * do the believed state, the list of agents and a drift check.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { isOrchestratorError, systemCaller } from "fleetwright";
import { ScopeScene } from "../support/scope-scene.ts";

const modules = ["a", "b", "c"] as const;
const assignments = ["one", "two"] as const;
type Module = (typeof modules)[number];
type Assignment = (typeof assignments)[number];

/** What two modules say alike of one file. */
const shared: Readonly<Record<Module, boolean>> = { a: true, b: true, c: false };

/** What is to be so, in a few lines. */
class Model {
  readonly newest = new Map<Module, number>(modules.map((name) => [name, 1]));
  readonly assigned = new Map<Assignment, Module[]>();
  readonly named = new Map<Module, number | null>();
  readonly applied = new Map<Module, { revision: number; by: Set<Assignment> }>();

  assignersOf(module: Module): Set<Assignment> {
    return new Set([...this.assigned].flatMap(([name, brought]) => (brought.includes(module) ? name : [])));
  }

  put(module: Module, revision: number): void {
    this.applied.set(module, { revision, by: this.assignersOf(module) });
  }

  everything(): void {
    const wanted = new Set([...[...this.assigned.values()].flat(), ...this.named.keys()]);
    for (const module of this.applied.keys()) if (!wanted.has(module)) this.applied.delete(module);
    for (const module of wanted) this.put(module, this.named.get(module) ?? this.newest.get(module)!);
  }

  name(module: Module, revision: number | null): void {
    this.named.set(module, revision);
    this.put(module, revision ?? this.newest.get(module)!);
  }

  /** Whether it may be. */
  remove(module: Module): boolean {
    const isAssigned = this.assignersOf(module).size > 0;
    if (!this.applied.has(module) || (isAssigned && !this.named.has(module))) return false;
    this.named.delete(module);
    if (!isAssigned) this.applied.delete(module);
    return true;
  }

  rollOut(assignment: Assignment): boolean {
    const brought = this.assigned.get(assignment);
    if (!brought) return false;
    const isPinned = (module: Module): boolean =>
      (this.named.get(module) ?? this.newest.get(module)) !== this.newest.get(module);
    if (brought.some(isPinned)) return false;
    for (const [module, { by }] of this.applied) {
      const isWanted = this.assignersOf(module).size > 0 || this.named.has(module);
      if (by.has(assignment) && !isWanted) this.applied.delete(module);
    }
    for (const module of brought) this.put(module, this.newest.get(module)!);
    return true;
  }

  files(): Record<string, string> {
    const files = [...this.applied].map(([module, { revision }]) => [module, `${module} ${revision}`]);
    const isShared = [...this.applied.keys()].some((module) => shared[module]);
    return Object.fromEntries(isShared ? [...files, ["shared", "alike"]] : files) as Record<string, string>;
  }
}

const module = fc.constantFrom(...modules);
const assignment = fc.constantFrom(...assignments);
const steps = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("upload" as const), module }) },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("assign" as const),
        assignment,
        brings: fc.subarray([...modules], { minLength: 1, maxLength: 2 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("unassign" as const), assignment }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("roll out" as const), assignment }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("everything" as const) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("name" as const), module, isPinned: fc.boolean() }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), module }) },
  ),
  { minLength: 10, maxLength: 24 },
);
type Step = typeof steps extends fc.Arbitrary<(infer Each)[]> ? Each : never;

class Play {
  readonly scene: ScopeScene;
  readonly model = new Model();

  constructor(scene: ScopeScene) {
    this.scene = scene;
  }

  async upload(name: Module): Promise<void> {
    const files = { [name]: `${name} ${this.model.newest.get(name)}` };
    await this.scene.upload(name, { files: shared[name] ? { ...files, shared: "alike" } : files });
  }

  /** Whether what was asked for was done. */
  async do(step: Step): Promise<boolean> {
    const { scene, model } = this;
    const { assignments: verbs } = scene.fleet.orchestrator;
    switch (step.kind) {
      case "upload":
        model.newest.set(step.module, model.newest.get(step.module)! + 1);
        await this.upload(step.module);
        return true;
      case "assign":
        if (model.assigned.has(step.assignment))
          await verbs.update(systemCaller, { name: step.assignment, modules: step.brings });
        else await scene.assign(step.assignment, step.brings);
        return true;
      case "unassign":
        await scene.unassign(step.assignment);
        return true;
      case "roll out":
        await scene.rollOut(step.assignment);
        return true;
      case "everything":
        await scene.apply({ allow_empty: true });
        return true;
      case "name":
        await scene.apply({ modules: [step.isPinned ? `${step.module}@1` : step.module] });
        return true;
      case "remove":
        await scene.apply({ remove_modules: [step.module] });
        return true;
    }
  }

  /** The same in the model; false where it is to be refused. */
  expected(step: Step): boolean {
    const { model } = this;
    if (step.kind === "assign") model.assigned.set(step.assignment, step.brings);
    else if (step.kind === "unassign") return model.assigned.delete(step.assignment);
    else if (step.kind === "roll out") return model.rollOut(step.assignment);
    else if (step.kind === "everything") model.everything();
    else if (step.kind === "name") model.name(step.module, step.isPinned ? 1 : null);
    else if (step.kind === "remove") return model.remove(step.module);
    return true;
  }

  async found(): Promise<object> {
    const { scene } = this;
    const { operations, agents, drift } = scene.fleet.orchestrator;
    const { nodeId: node_id } = scene.agent;
    const { applied } = await operations.believed(systemCaller, { node_id });
    const listed: string[] = [];
    for (const name of modules)
      for (let revision = 1; revision <= this.model.newest.get(name)!; revision += 1) {
        const { items } = await agents.list(systemCaller, { module: `${name}@${revision}` });
        if (items.length > 0) listed.push(`${name}@${revision}`);
      }
    const check = await drift.check(systemCaller, { node_id }).catch(() => null);
    return {
      files: Object.fromEntries(
        [...modules, "shared"].flatMap((name) => {
          const content = scene.read(name);
          return content === null ? [] : [[name, content]];
        }),
      ),
      believed: [...new Set(applied.map((each) => each.module))].toSorted(),
      listed,
      drift: check?.status ?? "none yet",
      checked: [...new Set(check?.resources.map((each) => each.module))].toSorted(),
    };
  }

  told(hasApplied: boolean): object {
    const names = [...this.model.applied.keys()].toSorted();
    return {
      files: this.model.files(),
      believed: names,
      listed: names.map((name) => `${name}@${this.model.applied.get(name)!.revision}`),
      drift: hasApplied ? "in_sync" : "none yet",
      checked: names,
    };
  }
}

test("a machine has what was asked for last of each module, and nothing else", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const scene = await ScopeScene.start();
      const play = new Play(scene);
      let hasApplied = false;
      try {
        for (const name of modules) await play.upload(name);
        for (const step of all) {
          const wasDone = await play.do(step).catch((error: unknown) => {
            if (isOrchestratorError(error) || (error as { code?: string }).code !== undefined) return false;
            throw error;
          });
          expect([step, wasDone]).toEqual([step, play.expected(step)]);
          const applies = ["roll out", "everything", "name", "remove"].includes(step.kind);
          hasApplied ||= applies && wasDone;
          if (applies) expect(await play.found()).toEqual(play.told(hasApplied));
        }
      } finally {
        await scene.end();
      }
    }),
    {
      numRuns: Number(process.env["FLEETWRIGHT_SCOPE_RUNS"] ?? (process.env["FLEETWRIGHT_SOAK"] ? 500 : 30)),
    },
  );
}, 300_000);
