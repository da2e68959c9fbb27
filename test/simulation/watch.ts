import { fleetTimeStepMs } from "../../lib/fleet-time.ts";
import type { Orchestrator } from "../../lib/orchestrator.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { longestQueueSeconds } from "./actions.ts";
import type { Simulation } from "./simulation.ts";

/** How late an end may come, milliseconds: a slow disk, and a minute at most until what failed is tried again. */
const latenessMs = 120_000;

/** How long past its time a result is awaited. */
const graceSeconds = 30;

/** Looks at a fleet after each step for what must be true at any moment. */
export class Watch {
  readonly #simulation: Simulation;
  #orchestrator: Orchestrator | null = null;
  /** Since when this orchestrator has been there with a disk that takes what it writes. */
  #steadySinceMs = 0;
  /** For how long there was an orchestrator. While there is none, and its clock is behind, no time passes for what waits. */
  #upMs = 0;
  #lookedAtMs = 0;
  /** When an operation was first seen in a status, and how many orchestrators there had been. */
  readonly #firstSeen = new Map<string, { atMs: number; starts: number }>();

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
    if (current !== null && current === this.#orchestrator)
      this.#upMs += world.clock.monotonic() - this.#lookedAtMs;
    this.#lookedAtMs = world.clock.monotonic();
    const now = this.#upMs;
    if (current !== this.#orchestrator || data.freeBytes !== Infinity) this.#steadySinceMs = now;
    this.#orchestrator = current;
    if (!current) return [];
    const faults: string[] = [];
    const busy = new Set<string>();
    for await (const operation of servicesOf(current).operations.store.open()) {
      const { operation_id, kind, status, node_id, queue_until } = operation;
      const name = `${kind} ${operation_id}`;
      if (status === "running" && busy.has(node_id)) faults.push(`${name} runs beside another`);
      if (status === "running") busy.add(node_id);
      if (status === "queued" && queue_until === undefined) continue;
      const seen = this.#seen(`${operation_id} ${status}`, now);
      const longestMs =
        status === "running" ? (operation.timeout_seconds + graceSeconds) * 1000 : longestQueueSeconds * 1000;
      // Each start may repeat a minute.
      const repeatedMs = (orchestrator.starts - seen.starts) * fleetTimeStepMs;
      if (now > Math.max(seen.atMs + longestMs + repeatedMs, this.#steadySinceMs) + latenessMs)
        faults.push(`${name} is ${status} past its time`);
    }
    return faults;
  }

  #seen(what: string, atMs: number): { atMs: number; starts: number } {
    const seen = this.#firstSeen.get(what) ?? { atMs, starts: this.#simulation.orchestrator.starts };
    this.#firstSeen.set(what, seen);
    return seen;
  }
}
