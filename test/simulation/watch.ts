import type { Orchestrator } from "../../lib/orchestrator.ts";
import type { Simulation } from "./simulation.ts";

/** How late an end may come, milliseconds: a slow disk, and a minute at most until what failed is tried again. */
const latenessMs = 120_000;

/** Looks at a fleet after each step for what must be true at any moment. */
export class Watch {
  readonly #simulation: Simulation;
  #orchestrator: Orchestrator | null = null;
  /** Since when this orchestrator has been there with a disk that takes what it writes. */
  #steadySinceMs = 0;

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  /** What is wrong now. */
  async faults(): Promise<string[]> {
    return [...this.#disorder(), ...(await this.#openOperations())];
  }

  /** Nothing ran twice, or before what was asked for earlier. */
  #disorder(): string[] {
    return this.#simulation.agents.flatMap(({ name, machine }) => {
      const disorder = machine.disorder();
      return disorder === null ? [] : [`on ${name} work ${disorder}`];
    });
  }

  /** An agent has one operation at a time, and none stays open for long after its time. */
  async #openOperations(): Promise<string[]> {
    const { orchestrator, world } = this.#simulation;
    const { current, data } = orchestrator;
    const now = world.clock.now();
    if (current !== this.#orchestrator || data.freeBytes !== Infinity) this.#steadySinceMs = now;
    this.#orchestrator = current;
    if (!current) return [];
    const faults: string[] = [];
    const busy = new Set<string>();
    for await (const operation of current.operations.store.open()) {
      const { operation_id, kind, status, node_id, deadline_at, queue_until } = operation;
      const name = `${kind} ${operation_id}`;
      if (status === "running" && busy.has(node_id)) faults.push(`${name} runs beside another`);
      if (status === "running") busy.add(node_id);
      const endMs = status === "running" ? deadline_at : queue_until;
      if (endMs !== undefined && now > Math.max(endMs, this.#steadySinceMs) + latenessMs)
        faults.push(`${name} is ${status} past its time`);
    }
    return faults;
  }
}
