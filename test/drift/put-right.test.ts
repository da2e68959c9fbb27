/** Drift that an apply puts right, and that comes again: whoever follows the events knows what the lists say. */
import { rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { systemCaller, type OrchestratorEvent } from "fleetwright";
import { settleAll } from "../support/deferred.ts";
import { driftingAgent } from "../support/drifting-agent.ts";

const scene = driftingAgent();

const { at } = scene;
const apply = (...modules: string[]) =>
  scene.fleet.orchestrator.operations.apply(systemCaller, {
    node_id: scene.agent.nodeId,
    ...(modules.length > 0 && { modules }),
  });
const listed = async (): Promise<unknown> =>
  (await scene.fleet.orchestrator.agents.get(systemCaller, { node_id: scene.agent.nodeId })).drift?.status;
const told = (): OrchestratorEvent[] =>
  scene.fleet.events.filter(({ event_type: type }) => type === "drift.detected" || type === "drift.resolved");
const toldTypes = (): string[] => told().map(({ event_type }) => event_type);

async function check(): Promise<string> {
  const { status } = await scene.fleet.orchestrator.drift.check(systemCaller, {
    node_id: scene.agent.nodeId,
  });
  await settleAll();
  return status;
}

async function assign(content: string, enforce = false): Promise<void> {
  const { modules, assignments } = scene.fleet.orchestrator;
  const { name } = await modules.upload(systemCaller, { content });
  await assignments.create(systemCaller, { name, selector: "*", modules: [name], enforce });
}

const file = (name: string): string =>
  `name: ${name}\nresources:\n  - { id: f, type: file, path: /${name}, content: ours }\n`;

test("drift that an apply of everything put right is told to be over, and told again when it comes again", async () => {
  await assign(file("web"));
  expect((await apply()).status).toBe("succeeded");
  expect(toldTypes()).toEqual([]);
  writeFileSync(at("web"), "theirs");
  expect(await check()).toBe("drifted");

  const { operation_id } = await apply();
  expect(toldTypes()).toEqual(["drift.detected", "drift.resolved"]);
  expect(told()[1]).toMatchObject({
    target: { type: "agent", id: scene.agent.nodeId },
    metadata: { operation_id, counts: { changed: 1 } },
  });
  expect(await listed()).toBeUndefined();
  expect(await check()).toBe("in_sync");
  expect(toldTypes()).toHaveLength(2);

  writeFileSync(at("web"), "theirs again");
  expect(await check()).toBe("drifted");
  await apply();
  writeFileSync(at("web"), "theirs once more");
  expect(await check()).toBe("drifted");
  const turn = ["drift.detected", "drift.resolved"];
  expect(toldTypes()).toEqual([...turn, ...turn, "drift.detected"]);
  expect(await listed()).toBe("drifted");
});

test("drift is not told to be over by an apply of some modules, or by one after which something is owed", async () => {
  await assign(file("web"));
  await assign(`name: daemon
resources:
  - { id: f, type: file, path: /daemon, content: ours }
  - { id: load, type: script, run: "test -e ${at("ready")}", run_on: [f] }
`);
  writeFileSync(at("ready"), "");
  await apply();
  writeFileSync(at("daemon"), "theirs");
  expect(await check()).toBe("drifted");
  await apply("web");
  expect(await listed()).toBe("drifted");

  rmSync(at("ready"));
  expect((await apply()).status).not.toBe("succeeded");
  expect(await listed()).toBe("drifted");
  expect(await check()).toBe("drifted");
  expect(toldTypes()).toEqual(["drift.detected"]);

  writeFileSync(at("ready"), "");
  expect((await apply()).status).toBe("succeeded");
  expect(toldTypes()).toEqual(["drift.detected", "drift.resolved"]);
});

test("an apply that put drift right does not begin the count of repairs anew", async () => {
  await assign(file("web"), true);
  await apply();
  const drift = async (): Promise<void> => {
    await scene.fleet.clock.advance(300_000);
    writeFileSync(at("web"), "theirs");
    expect(await check()).toBe("drifted");
  };
  await drift();
  await apply();
  await drift();
  const times = scene.fleet.events.flatMap((event) =>
    event.event_type === "drift.enforced" ? event.metadata.times : [],
  );
  expect(times).toEqual([1, 2]);
});
