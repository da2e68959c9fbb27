/**
 * All attacks at once against the real server, while an operator reads and a fleet works: nobody honest is held up for long, cut or robbed
 * of what was acknowledged, and memory, log and disk stay within bounds. FLEETWRIGHT_ATTACK_SECONDS and FLEETWRIGHT_ATTACK_AGENTS change
 * the length and the size, FLEETWRIGHT_ATTACKS="viewer,signIns" chooses some. Attackers, agents and the server share the machine and one address.
 */
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { allAgents, figuresOf, sizeOf, startAttacks, startScene } from "../support/attacks/scene.ts";
import { timeNewReads, timeReads } from "../support/attacks/timed-reads.ts";
import { FleetLoad } from "../support/fleet-load.ts";
import { eventually } from "../support/processes.ts";
import { seededRandom } from "../support/random.ts";
import { isSoak, seedsFor } from "../support/soak.ts";

const given = process.env["FLEETWRIGHT_ATTACK_SECONDS"];
const seconds = Number(given ?? 600);
const agents = Number(process.env["FLEETWRIGHT_ATTACK_AGENTS"] ?? 1_000);
const isWanted = process.platform === "linux" && (isSoak || given !== undefined);
if (!isWanted)
  console.info("No attacks: they take a machine for minutes. `npm run soak` makes them, on Linux.");
const [seed = 0] = seedsFor({ usual: 1, soak: 1 });

test.runIf(isWanted)(
  `${seconds} s of all attacks at once hold nobody up, and lose nothing`,
  { timeout: (seconds * 2 + agents / 2 + 120) * 1_000 },
  async () => {
    const { server, dataDir, honest, accepted, target, reader } = await startScene(agents);
    const { client, program } = server;
    const load = new FleetLoad(honest, seededRandom(seed));
    await load.prepare(client);
    const quiet = await timeReads(target.port, reader, AbortSignal.timeout(2_000));
    const before = figuresOf(program.pid);
    const [diskBefore, logBefore] = [sizeOf(dataDir), program.stderr.length];

    const endAttacks = await startAttacks(target);
    const over = AbortSignal.timeout(seconds * 1_000);
    const work = load.run(client, async () => {
      await pause(400);
      return over.aborted ? "last" : "next";
    });
    const [reads, newConnections] = await Promise.all([
      timeReads(target.port, reader, over),
      timeNewReads(target.port, reader, over),
    ]);
    const during = figuresOf(program.pid);
    await work;
    const attacks = await endAttacks();
    const disk = sizeOf(dataDir) - diskBefore;
    const logKib = Math.round((program.stderr.length - logBefore) / 1024);

    await load.settle(client);
    await load.check(client);
    const isThere = async (): Promise<boolean> => {
      const connected = new Set(
        (await allAgents(client)).filter((agent) => agent.connected).map(({ node_id }) => node_id),
      );
      return honest.every((nodeId) => connected.has(nodeId));
    };
    await eventually("the honest agents are connected", isThere);
    const lost = (await accepted()) - agents;
    const end = figuresOf(program.pid);
    const figures = {
      seconds,
      agents,
      reads,
      newConnections,
      quiet,
      rss: { start: before.residentMib, peak: during.peakMib, end: end.residentMib },
      server: { computed: during.computed - before.computed, waited: during.waited - before.waited },
      disk,
      logKib,
      lost,
      ...load.counts,
      attacks,
    };
    console.log(`Attacks: ${JSON.stringify(figures)}`);
    expect(lost).toBe(0);
    expect(load.counts).toMatchObject({ unanswered: 0 });
    expect(load.counts.operations).toBeGreaterThan(0);
    expect(Object.values(attacks).filter(({ done }) => done === 0)).toEqual([]);
    expect(during.peakMib - before.residentMib).toBeLessThan(700);
    expect(disk).toBeLessThan(100 + seconds / 2);
    expect(logKib).toBeLessThan(200 + seconds * 20);
    // The machine may be busy with something else, and is with the attackers.
    expect(reads.p99).toBeLessThan(2_000);
  },
);
