/**
 * Two agents and their orchestrator with a man in the middle of all frames. Whatever he does, nothing runs that was not asked for,
 * nothing twice, every operation ends with what the machines show, and once he is gone all goes on as if he had never been.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { newFolders } from "../support/fleet.ts";
import { seededRandom } from "../support/random.ts";
import { isSoak, seedsFor } from "../support/soak.ts";
import { ManInTheMiddle } from "./support/middle.ts";

const wanted = isSoak ? 2_000 : 40;

const module = `name: counted
params:
  number: { type: string, default: "" }
resources:
  - { id: made, type: file, path: /made, content: "{{ params.number }}" }
  - id: count
    type: script
    run: echo {{ params.number | shell_quote }} >> runs
    run_on: [made]
`;

async function startAgent(product: TestOrchestrator, man: ManInTheMiddle) {
  const folders = newFolders();
  const agent = createAgent({
    ...folders,
    dial: () => Promise.resolve(man.between(product.transport.connect())),
    clock: product.clock,
  });
  await agent.start();
  const runs = join(folders.root, "runs");
  return {
    agent,
    nodeId: agent.nodeId!,
    runs: () => (existsSync(runs) ? readFileSync(runs, "utf8").split("\n").slice(0, -1) : []),
    [Symbol.asyncDispose]: () => agent.stop(),
  };
}

test.each(seedsFor({ usual: 2, soak: 3 }))(
  `${wanted} operations through a man in the middle, seed %i`,
  { timeout: 120_000 + wanted * 1_000 },
  async (seed) => {
    const random = seededRandom(seed);
    const man = new ManInTheMiddle(random, 0);
    await using product = await createTestOrchestrator();
    const { operations, agents, modules, audit } = product.orchestrator;
    await using first = await startAgent(product, man);
    await using second = await startAgent(product, man);
    const machines = [first, second];
    /** Lets time pass on the machines' own clock, and for the programs that they run. */
    const goOn = async (seconds: number): Promise<void> => {
      await product.clock.advance(seconds * 1_000);
      await pause(2);
    };
    await modules.upload(systemCaller, { content: module });
    for (const { nodeId } of machines) {
      while (!product.events.some(({ target }) => target?.id === nodeId)) await goOn(1);
      await agents.setStatus(systemCaller, { node_id: nodeId, status: "approved" });
    }

    man.share = 0.12;
    const asked = new Map<string, { number: string; at: number }>();
    for (let number = 0; number < wanted; number += 1) {
      const at = Math.floor(random() * machines.length);
      const { operation_id } = await operations.apply(systemCaller, {
        node_id: machines[at]!.nodeId,
        modules: ["counted"],
        params: { number: `n${number}` },
        wait_seconds: 0,
        when_offline: "queue",
        expires_in_seconds: 3_600,
        timeout_seconds: 600,
      });
      asked.set(operation_id, { number: `n${number}`, at });
      for (let turns = random() * 6; turns > 0; turns -= 1) await goOn(random() * 4);
    }
    man.share = 0;
    const statusOf = async (operation_id: string) =>
      (await operations.get(systemCaller, { operation_id })).status;
    for (const operation_id of asked.keys())
      while (["queued", "sent", "running", "unknown"].includes(await statusOf(operation_id))) await goOn(5);

    const statuses: Record<string, number> = {};
    const expected: string[][] = [[], []];
    const possible: string[][] = [[], []];
    for (const [operation_id, { number, at }] of asked) {
      const status = await statusOf(operation_id);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status === "succeeded") expected[at]!.push(number);
      possible[at]!.push(number);
    }
    console.log(`Man in the middle: ${JSON.stringify({ seed, statuses, ...man.counts })}`);
    for (const [at, { runs }] of machines.entries()) {
      const ran = runs();
      expect(new Set(ran).size, "runs that are no repetition").toBe(ran.length);
      expect(ran.filter((number) => !possible[at]!.includes(number))).toEqual([]);
      expect(expected[at]!.filter((number) => !ran.includes(number))).toEqual([]);
    }
    expect(statuses["succeeded"] ?? 0).toBeGreaterThan(wanted / 2);
    const { items } = await agents.list(systemCaller, { limit: 100 });
    expect(items.map(({ node_id, status }) => [node_id, status]).sort()).toEqual(
      machines.map(({ nodeId }) => [nodeId, "approved"]).sort(),
    );
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true });
    expect(product.loggedErrors).toEqual([]);
    for (const { nodeId } of machines)
      expect(await operations.plan(systemCaller, { node_id: nodeId, wait_seconds: 0 })).toMatchObject({
        kind: "plan",
      });
  },
);
