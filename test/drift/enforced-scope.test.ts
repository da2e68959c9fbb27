/** Enforcement repairs its assignments' part of the baseline, and pays what their triggers owe. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { driftingAgent } from "../support/drifting-agent.ts";
import { endOf } from "../support/end-of-operation.ts";
import { waitFor } from "../support/wait-for.ts";

const scene = driftingAgent();

const { at } = scene;
const read = (name: string): string => readFileSync(at(name), "utf8");
const upload = (content: string): Promise<unknown> =>
  scene.fleet.orchestrator.modules.upload(systemCaller, { content });
const file = (name: string, content = "ours"): string =>
  `name: ${name}\nresources:\n  - { id: f, type: file, path: /${name}, content: ${content} }\n`;
const assign = (name: string, more: object = {}): Promise<unknown> =>
  scene.fleet.orchestrator.assignments.create(systemCaller, {
    name,
    selector: "*",
    modules: [name],
    ...more,
  });
const apply = (): Promise<Operation> =>
  scene.fleet.orchestrator.operations.apply(systemCaller, { node_id: scene.agent.nodeId });

/** Checks, and waits for what follows from that. */
async function check(): Promise<string> {
  const { nodeId: node_id } = scene.agent;
  const { status } = await scene.fleet.orchestrator.drift.check(systemCaller, { node_id });
  await settleAll();
  const { items } = await scene.fleet.orchestrator.operations.list(systemCaller, { node_id });
  const { operations } = servicesOf(scene.fleet.orchestrator);
  await Promise.all(items.map(({ operation_id }) => endOf(operations, operation_id, 30)));
  return status;
}
const newest = async (): Promise<Operation> =>
  (await scene.fleet.orchestrator.operations.list(systemCaller, { kind: "apply", limit: 1 })).items[0]!;

test("what an assignment enforces is repaired, and what others brought is left for them", async () => {
  for (const name of ["web", "base", "db"]) {
    await upload(file(name));
    await assign(name, { enforce: name !== "base" });
  }
  await apply();
  for (const name of ["web", "base"]) writeFileSync(at(name), "theirs");
  expect(await check()).toBe("drifted");
  expect([read("web"), read("base")]).toEqual(["ours", "theirs"]);
  expect(await newest()).toMatchObject({ assignment: "web", scope: ["web"], modules: [{ name: "web" }] });
  expect(await check()).toBe("drifted");
});

test("what two of them enforce is repaired at once", async () => {
  for (const name of ["web", "db"]) {
    await upload(file(name));
    await assign(name, { enforce: true });
  }
  await apply();
  for (const name of ["web", "db"]) writeFileSync(at(name), "theirs");
  await check();
  expect([read("web"), read("db")]).toEqual(["ours", "ours"]);
  expect(await check()).toBe("in_sync");
});

test("what two of them enforce is repaired without removals, unless both allow these", async () => {
  for (const name of ["web", "db"]) {
    await upload(file(name));
    await assign(name, { enforce: true, unattended_removals: name === "web" });
  }
  await apply();
  const holds = async (): Promise<unknown> => {
    for (const name of ["web", "db"]) writeFileSync(at(name), "theirs");
    await check();
    const { operation_id } = await newest();
    const operation = await scene.fleet.storage.get("operations", operation_id);
    expect(await check()).toBe("in_sync");
    return operation!.value["hold_removals"];
  };
  expect(await holds()).toBe(true);
  await scene.fleet.orchestrator.assignments.update(systemCaller, { name: "db", unattended_removals: true });
  expect(await holds()).toBeUndefined();
});

test("a module between two states is left to people, and its neighbours are repaired", async () => {
  for (const name of ["web", "db"]) {
    await upload(file(name));
    await assign(name, { enforce: true });
  }
  await apply();
  await upload(`${file("web", "newer")}  - { id: no, type: script, run: "exit 1", creates: /never }\n`);
  const { orchestrator } = scene.fleet;
  await orchestrator.rollouts.apply(systemCaller, { name: "web" });
  writeFileSync(at("db"), "theirs");
  await check();
  // Both have drifted, and one of them nobody can put back: not by a repetition.
  expect(read("web")).toBe("newer");
  await orchestrator.assignments.update(systemCaller, { name: "web", enforce: false });
  await check();
  expect([read("web"), read("db")]).toEqual(["newer", "ours"]);
});

test("modules are put back in the order of their requires, whenever each was applied", async () => {
  await upload(file("web"));
  await upload(`name: base\nresources:\n  - { id: d, type: directory, path: /srv }\n`);
  for (const name of ["web", "base"]) {
    await assign(name, { enforce: true });
    await scene.fleet.orchestrator.rollouts.apply(systemCaller, { name });
  }
  await upload(`${file("web").replace("/web", "/srv/web").replace("\n", "\nrequires: [base]\n")}`);
  await scene.fleet.orchestrator.rollouts.apply(systemCaller, { name: "web" });
  rmSync(at("srv"), { recursive: true });
  expect(await check()).toBe("drifted");
  expect(await newest()).toMatchObject({ status: "succeeded" });
  expect(read("srv/web")).toBe("ours");
});

test("what is forgotten while a check looks at it is not put back", async () => {
  const looks = `while [ -e ${at("looking")} ]; do sleep 0.05; done`;
  await upload(`${file("web")}  - { id: slow, type: script, run: "true", check: "${looks}" }\n`);
  await assign("web", { enforce: true });
  await apply();
  writeFileSync(at("web"), "theirs");
  writeFileSync(at("looking"), "");
  const { nodeId: node_id } = scene.agent;
  const checking = check();
  const isAsked = ({ event_type }: { event_type: string }): boolean => event_type === "drift.checkRequested";
  await waitFor(() => expect(scene.fleet.events.some(isAsked)).toBe(true));
  const { operations } = scene.fleet.orchestrator;
  const forgetting = operations.forget(systemCaller, { node_id, resources: ["web/f"] });
  const asked = async () => (await operations.list(systemCaller, { node_id, kind: "forget" })).items;
  await waitFor(async () => expect(await asked()).toHaveLength(1));
  rmSync(at("looking"));
  await forgetting;
  await checking;
  expect(read("web")).toBe("theirs");
});

test("an apply of other modules does not begin the count of repairs anew", async () => {
  for (const name of ["web", "base"]) {
    await upload(file(name));
    await assign(name, { enforce: name === "web" });
  }
  await apply();
  for (let time = 1; time <= 7; time += 1) {
    writeFileSync(at("web"), "theirs");
    await check();
    await upload(file("base", `ours${time}`));
    await scene.fleet.orchestrator.rollouts.apply(systemCaller, { name: "base" });
    await scene.fleet.clock.advance(14_400_000);
    await settleAll();
  }
  const stopped = scene.fleet.events.filter(({ event_type }) => event_type === "drift.enforcementStopped");
  expect(stopped).toHaveLength(1);
});

test("a trigger that failed is drift, and is paid once what it needs is there", async () => {
  const web = (content: string): string =>
    `${file("web", content)}  - { id: load, type: script, run: "test -e ${at("ready")} && cp ${at("web")} ${at("loaded")}", run_on: [f] }\n`;
  await upload(web("one"));
  await assign("web", { enforce: true });
  writeFileSync(at("ready"), "");
  await apply();
  expect(read("loaded")).toBe("one");
  rmSync(at("ready"));
  await upload(web("two"));
  expect(await apply()).toMatchObject({ status: "partial" });
  expect(read("loaded")).toBe("one");
  expect(await check()).toBe("drifted");
  expect(read("loaded")).toBe("one");
  writeFileSync(at("ready"), "");
  await scene.fleet.clock.advance(300_000);
  expect(await check()).toBe("drifted");
  expect(read("loaded")).toBe("two");
  expect(await check()).toBe("in_sync");
  expect(existsSync(at("web"))).toBe(true);
});
