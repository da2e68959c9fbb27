/**
 * A server and three agents as real processes, which are killed, cut off, stalled, restored, given wrong clocks and a full disk, while
 * operators go on asking for things. At the end nothing was done twice, nothing that was answered is lost, nothing is open or
 * `unknown`, and what every operation says of its scripts is what the machines show.
 *
 * FLEETWRIGHT_SEEDS="<n>-<n>" repeats a run as far as chance goes, FLEETWRIGHT_TRIAL_OPERATIONS says how many operations it takes.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { mountSmallDisk, reasonNotToMount } from "../support/mounts.ts";
import { hasPrograms } from "../support/programs.ts";
import { seededRandom } from "../support/random.ts";
import { isSoak, seedsFor } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TrialFaults } from "../support/trial/trial-faults.ts";
import { TrialFleet } from "../support/trial/trial-fleet.ts";
import { TrialLoad } from "../support/trial/trial-load.ts";
import { answered, judge, unfinished } from "../support/trial/trial-verdict.ts";

const wanted = Number(process.env["FLEETWRIGHT_TRIAL_OPERATIONS"] ?? (isSoak ? 10_000 : 40));
const isLong = wanted > 100;
const [seed = 0] = seedsFor({ usual: 1, soak: 1 });
const patienceMs = 120_000;

test(
  `${wanted} operations under every fault: nothing doubled, lost, open, untrue or left unknown`,
  { timeout: 300_000 + wanted * 2_000 },
  async () => {
    const reason = reasonNotToMount();
    if (reason !== null) console.info(`No disk is filled in the trial: ${reason}`);
    const hasDisk = reason === null;
    const hasClocks = hasPrograms("the clocks of the trial", "faketime");
    const folder = temporaryFolder();
    const disk = hasDisk ? mountSmallDisk("192m") : join(folder, "disk");
    mkdirSync(disk, { recursive: true });
    const random = seededRandom(seed);
    const startedAt = performance.now();
    await using fleet = new TrialFleet({ folder, disk, hasClocks }, 3);
    const load = new TrialLoad(fleet, random);
    const faults = new TrialFaults(fleet, load, { random, means: { hasClocks, hasDisk, isLong } });
    await fleet.start();
    await load.prepare(fleet);

    const sure = [
      () => faults.endServer("SIGKILL"),
      () => faults.endAgent("SIGKILL"),
      () => faults.cut(),
      () => faults.backUp(),
      () => faults.halfOpen(),
      () => faults.jump(),
      () => faults.fillDisk(),
      () => faults.endServer("SIGKILL"),
      () => faults.restore(),
      () => faults.endAgent("SIGKILL"),
    ];
    // Each fault once, between the first operations; then by chance.
    while (load.requests.length < wanted || sure.length > 0) {
      for (let calls = Math.floor(random() * (isLong ? 10 : 4)); calls >= 0; calls -= 1) load.step();
      await pause(random() * 150);
      await (sure.length > 0 ? sure.shift()!() : isLong ? faults.any() : undefined);
    }
    await load.settled();
    await faults.over();
    await fleet.heal();
    const healedAt = performance.now();

    let left = await answered(() => unfinished(fleet));
    while (left.open.length + left.unknown.length > 0 && performance.now() - healedAt < patienceMs) {
      await pause(250);
      left = await answered(() => unfinished(fleet));
    }
    const settledMs = Math.round(performance.now() - healedAt);
    const { operations, statuses, ...found } = await judge(fleet, load);
    const figures = {
      seed,
      minutes: Math.round((performance.now() - startedAt) / 6_000) / 10,
      asked: load.requests.length,
      operations,
      rollouts: load.rollouts.size,
      ...load.counts,
      ...faults.counts,
      forgotten: load.forgotten.size,
      settledMs,
      statuses,
      answers: Object.fromEntries(load.refusals),
    };
    console.log(`Trial: ${JSON.stringify({ ...figures, ...countsOf(found) })}`);
    const nothing = { doubled: [], lost: [], open: [], untrue: [], unknown: [] };
    expect(found, `Repeat with FLEETWRIGHT_SEEDS=${seed}-${seed}.`).toEqual(nothing);
    expect(await fleet.client.audit.verify()).toMatchObject({ valid: true });
    expect(statuses["succeeded"]).toBeGreaterThan(wanted / 10);
    // No lane is blocked.
    for (const { nodeId } of fleet.agents)
      expect(await fleet.client.state.apply(nodeId, { when_offline: "queue" })).toMatchObject({
        status: "succeeded",
      });
  },
);

function countsOf(found: Record<string, readonly string[]>): Record<string, number> {
  return Object.fromEntries(Object.entries(found).map(([name, list]) => [name, list.length]));
}
