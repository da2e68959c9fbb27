/**
 * A repair, or another apply of what is applied already, that did not come to its end. What it was to bring is what the machine has
 * had before, so nobody has to decide which state is right: enforcement goes on, and pays what is owed.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { driftingAgent } from "../support/drifting-agent.ts";
import { endOf } from "../support/end-of-operation.ts";

const scene = driftingAgent();

const { at } = scene;
const read = (name: string): string => readFileSync(at(name), "utf8");

/** A file, and a daemon that reads it: as soon as `ready` is there, and for as long as `slow` is. */
const daemon = (content: string): string => `name: web
resources:
  - { id: f, type: file, path: /web, content: ${content} }
  - id: load
    type: script
    run: "touch ${at("loading")}; while [ -e ${at("slow")} ]; do sleep 0.05; done; test -e ${at("ready")} && cp ${at("web")} ${at("loaded")}"
    run_on: [f]
`;

async function enforced(content: string): Promise<void> {
  const { modules, assignments, operations } = scene.fleet.orchestrator;
  await modules.upload(systemCaller, { content });
  await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"], enforce: true });
  writeFileSync(at("ready"), "");
  const first = await operations.apply(systemCaller, { node_id: scene.agent.nodeId });
  expect(first.status).toBe("succeeded");
}

const applies = async (): Promise<Operation[]> =>
  (await scene.fleet.orchestrator.operations.list(systemCaller, { kind: "apply" })).items;

async function check(): Promise<string> {
  await scene.fleet.clock.advance(300_000);
  const { nodeId: node_id } = scene.agent;
  const { status } = await scene.fleet.orchestrator.drift.check(systemCaller, { node_id });
  await settleAll();
  return status;
}

async function checkAndRepair(): Promise<string> {
  const status = await check();
  const { operations } = servicesOf(scene.fleet.orchestrator);
  for (const { operation_id } of await applies()) await endOf(operations, operation_id, 30);
  return status;
}

/** Cancels the newest apply while the daemon loads. */
async function cancelWhileItLoads(): Promise<Operation> {
  await vi.waitFor(() => expect(existsSync(at("loading"))).toBe(true), { timeout: 30_000 });
  const [newest] = await applies();
  return scene.fleet.orchestrator.operations.cancel(systemCaller, { operation_id: newest!.operation_id });
}

test("a repair that was cancelled between a change and its trigger is begun again, and pays the trigger", async () => {
  await enforced(daemon("ours"));
  for (const name of ["web", "loaded"]) writeFileSync(at(name), "theirs");
  writeFileSync(at("slow"), "");
  rmSync(at("loading"));
  expect(await check()).toBe("drifted");
  const { operation_id } = await cancelWhileItLoads();
  await endOf(servicesOf(scene.fleet.orchestrator).operations, operation_id, 30);
  expect((await applies())[0]).toMatchObject({ operation_id, status: "cancelled" });
  rmSync(at("slow"));
  expect([read("web"), read("loaded")]).toEqual(["ours", "theirs"]);
  expect(await checkAndRepair()).toBe("drifted");
  expect(read("loaded")).toBe("ours");
  expect(await checkAndRepair()).toBe("in_sync");
});

test("a repair in which something failed is begun again", async () => {
  await enforced(`name: web
resources:
  - { id: f, type: file, path: /web, content: ours }
  - { id: gate, type: script, run: "test -e ${at("ready")} && touch ${at("open")}", check: "test -e ${at("open")}" }
`);
  writeFileSync(at("web"), "theirs");
  for (const name of ["ready", "open"]) rmSync(at(name));
  expect(await checkAndRepair()).toBe("drifted");
  expect((await applies())[0]).toMatchObject({ status: "partial" });
  writeFileSync(at("ready"), "");
  expect(await checkAndRepair()).toBe("drifted");
  expect(existsSync(at("open"))).toBe(true);
  expect(await checkAndRepair()).toBe("in_sync");
});

test("what somebody applied anew without a difference, and cancelled, is put back", async () => {
  await enforced(daemon("ours"));
  for (const name of ["web", "loaded"]) writeFileSync(at(name), "theirs");
  writeFileSync(at("slow"), "");
  rmSync(at("loading"));
  const { operations } = scene.fleet.orchestrator;
  const asked = operations.apply(systemCaller, { node_id: scene.agent.nodeId });
  await cancelWhileItLoads();
  expect((await asked).status).toBe("cancelled");
  rmSync(at("slow"));
  expect(await checkAndRepair()).toBe("drifted");
  expect([read("web"), read("loaded")]).toEqual(["ours", "ours"]);
});

test("a newer revision that was cancelled in the middle is left to people, as is its trigger", async () => {
  await enforced(daemon("one"));
  writeFileSync(at("slow"), "");
  rmSync(at("loading"));
  await scene.fleet.orchestrator.modules.upload(systemCaller, { content: daemon("two") });
  const asked = scene.fleet.orchestrator.operations.apply(systemCaller, { node_id: scene.agent.nodeId });
  await cancelWhileItLoads();
  await asked;
  rmSync(at("slow"));
  expect(await checkAndRepair()).toBe("drifted");
  expect([read("web"), read("loaded")]).toEqual(["two", "one"]);
  await scene.fleet.orchestrator.operations.apply(systemCaller, { node_id: scene.agent.nodeId });
  expect([read("web"), read("loaded")]).toEqual(["two", "two"]);
});
