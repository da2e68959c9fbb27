/**
 * Two assignments on three machines, each rolled out with a canary, on a schedule and by hand, and enforced, in any order: a machine
 * never has a revision that no rollout of that assignment gave it.
 */
import { readFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { endOf } from "../support/end-of-operation.ts";
import { newFolders, startApprovedAgent, type TestAgent } from "../support/fleet.ts";
import { seededRandom } from "../support/random.ts";

const names = ["web", "base"] as const;
const runs = Number(process.env["FLEETWRIGHT_SCOPE_RUNS"] ?? (process.env["FLEETWRIGHT_SOAK"] ? 200 : 10));
const steps = 10;

const moduleOf = (name: string, revision: number): string =>
  `name: ${name}\nresources:\n  - { id: f, type: file, path: /${name}, content: "${name} ${revision}" }\n`;

class Scene {
  readonly fleet: TestOrchestrator;
  readonly agents: TestAgent[];
  readonly #random: () => number;
  readonly #revisions = { web: 1, base: 1 };
  /** What was changed by somebody, by machine and file, until an apply about it. */
  readonly #drifted = new Set<string>();
  enforced = 0;
  scheduled = 0;
  held = 0;

  constructor(fleet: TestOrchestrator, agents: TestAgent[], random: () => number) {
    this.fleet = fleet;
    this.agents = agents;
    this.#random = random;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }

  async step(): Promise<void> {
    const { orchestrator } = this.fleet;
    const name = this.pick(names);
    const kind = this.pick(["upload", "canary", "roll out", "schedule", "drift", "go on", "cancel"]);
    if (kind === "upload") {
      this.#revisions[name] += 1;
      await orchestrator.modules.upload(systemCaller, { content: moduleOf(name, this.#revisions[name]) });
    } else if (kind === "canary") {
      const rollout = { canary: 1, pause_seconds: 3600, order: "shuffled" } as const;
      await orchestrator.rollouts.apply(systemCaller, { name, rollout, wait_seconds: 0 });
      this.held += 1;
    } else if (kind === "roll out") {
      await orchestrator.rollouts.apply(systemCaller, { name, wait_seconds: 0 });
    } else if (kind === "schedule") {
      await this.#pass(10);
    } else if (kind === "go on") {
      await this.#pass(60);
    } else if (kind === "cancel") {
      const { items } = await orchestrator.rollouts.list(systemCaller, { status: "running" });
      for (const { rollout_id } of items)
        await orchestrator.rollouts.cancel(systemCaller, { rollout_id }).catch(() => {});
    } else {
      const agent = this.pick(this.agents);
      if (existsSync(join(agent.root, name))) {
        writeFileSync(join(agent.root, name), "drifted");
        this.#drifted.add(`${agent.nodeId} ${name}`);
      }
      await orchestrator.drift.check(systemCaller, { node_id: agent.nodeId }).catch(() => {});
    }
    await this.settle();
  }

  /** Lets time pass, no more at once than work on a machine may take. */
  async #pass(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      await this.fleet.clock.advance(60_000);
      await this.settle();
    }
  }

  async settle(): Promise<void> {
    const { operations } = servicesOf(this.fleet.orchestrator);
    for (let rounds = 0; rounds < 20; rounds += 1) {
      await settleAll();
      const open: string[] = [];
      for (const status of ["queued", "running"] as const) {
        const { items } = await this.fleet.orchestrator.operations.list(systemCaller, { status, limit: 500 });
        open.push(...items.map(({ operation_id }) => operation_id));
      }
      if (open.length === 0) return;
      await Promise.all(open.map((id) => endOf(operations, id, 30)));
    }
    throw new Error("Operations do not end.");
  }

  /** Where a machine has anything else of a module than what the newest rollout of its assignment gave it. */
  async mistakes(): Promise<string[]> {
    const mistakes: string[] = [];
    const { operations } = this.fleet.orchestrator;
    for (const agent of this.agents) {
      for (const name of names) {
        const query = { node_id: agent.nodeId, kind: "apply", assignment: name, limit: 500 } as const;
        const { items } = await operations.list(systemCaller, query);
        const about = items.filter(({ scope, status }) => scope?.includes(name) && status === "succeeded");
        const given = about.find(
          ({ rollout_id, assignment }) => rollout_id !== undefined && assignment === name,
        );
        for (const { scope } of about)
          if (scope?.join() !== name) mistakes.push(`An apply of ${name} was about ${scope?.join()}.`);
        const path = join(agent.root, name);
        const found = existsSync(path) ? readFileSync(path, "utf8") : null;
        if (found === "drifted" && this.#drifted.has(`${agent.nodeId} ${name}`)) continue;
        const expected = given ? `${name} ${given.modules[0]!.revision}` : null;
        if (found !== expected) mistakes.push(`${agent.nodeId} has ${found}, not ${expected}.`);
      }
    }
    const { items: applies } = await operations.list(systemCaller, { kind: "apply", limit: 500 });
    this.enforced += applies.filter(({ rollout_id }) => rollout_id === undefined).length;
    const { items } = await this.fleet.orchestrator.rollouts.list(systemCaller, { limit: 500 });
    this.scheduled += items.filter(({ trigger }) => trigger === "scheduled").length;
    return mistakes;
  }
}

async function play(seed: number): Promise<{ scene: Scene; mistakes: string[] }> {
  await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  const { modules, assignments } = fleet.orchestrator;
  for (const name of names) {
    await modules.upload(systemCaller, { content: moduleOf(name, 1) });
    const schedule = { cron: name === "web" ? "7 * * * *" : "*/20 * * * *" };
    await assignments.create(systemCaller, { name, selector: "*", modules: [name], schedule, enforce: true });
  }
  const start = (): Promise<TestAgent> => startApprovedAgent(fleet, { ...newFolders(), clock: fleet.clock });
  await using first = await start();
  await using second = await start();
  await using third = await start();
  const scene = new Scene(fleet, [first, second, third], seededRandom(seed));
  const mistakes: string[] = [];
  for (let step = 0; step < steps; step += 1) {
    await scene.step();
    mistakes.push(...(await scene.mistakes()));
  }
  return { scene, mistakes };
}

test(
  "no machine leaves the revisions that its own rollouts gave it",
  async () => {
    const seen = { enforced: 0, scheduled: 0, held: 0 };
    for (let seed = 1; seed <= runs; seed += 1) {
      const { scene, mistakes } = await play(seed);
      expect(mistakes, `seed ${seed}`).toEqual([]);
      seen.enforced += scene.enforced;
      seen.scheduled += scene.scheduled;
      seen.held += scene.held;
    }
    console.info(
      `${runs} runs: ${seen.enforced} enforced, ${seen.scheduled} by schedule, ${seen.held} canaries.`,
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(runs / 2);
  },
  600_000 + runs * 20_000,
);
