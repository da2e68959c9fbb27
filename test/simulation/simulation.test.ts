/**
 * Symptom of each fault that this finds: an operation that ran twice, never ended, or whose result nobody ever saw. The
 * cause is then in the lines that the failure prints. Run one again with FLEETWRIGHT_SEEDS=12-12.
 */
import { expect, test } from "vitest";
import { seedsFor } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { act } from "./actions.ts";
import { findFaults } from "./invariants.ts";
import { Simulation } from "./simulation.ts";
import { Watch } from "./watch.ts";

const stepsPerSeed = 100;

test.each(seedsFor({ usual: 20, soak: 2000 }))(
  `whatever happens in ${stepsPerSeed} steps, every operation runs once at most, in order, and ends with its result: seed %i`,
  async (seed) => {
    const simulation = new Simulation(seed, temporaryFolder());
    const { world } = simulation;
    const watch = new Watch(simulation);
    await simulation.begin();
    for (let step = 0; step < stepsPerSeed && world.faults.length === 0; step += 1) {
      await act(simulation);
      await world.clock.advance(0);
      world.faults.push(...(await watch.faults()));
    }
    if (world.faults.length === 0) {
      await simulation.heal();
      world.faults.push(...((await world.drive("looking for faults", lookAtAll(watch, simulation))) ?? []));
    }
    await simulation.end();
    expect(world.faults, `seed ${seed}\n${world.trace.join("\n")}`).toEqual([]);
  },
);

async function lookAtAll(watch: Watch, simulation: Simulation): Promise<string[]> {
  return [...(await watch.faults()), ...(await findFaults(simulation))];
}
