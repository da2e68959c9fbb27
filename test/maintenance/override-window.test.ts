/** Who may begin something on machines that are frozen. */
import { expect, it } from "vitest";
import { systemCaller, type Caller } from "fleetwright";
import { createScene, type Scene } from "../support/rollout-scene.ts";

const override_window = true;
const now = { wait_seconds: 0 };

type Begin = (scene: Scene, caller: Caller) => Promise<{ override_window?: boolean | undefined }>;

const verbs: Record<string, Begin> = {
  "operations.apply": ({ test, agents }, caller) =>
    test.orchestrator.operations.apply(caller, {
      node_id: agents[0]!.nodeId,
      modules: ["motd"],
      override_window,
      ...now,
    }),
  "rollouts.apply": ({ test }, caller) =>
    test.orchestrator.rollouts.apply(caller, { name: "all", override_window, ...now }),
  "runs.start": ({ test }, caller) =>
    test.orchestrator.runs.start(caller, { selector: "*", command: "uptime", override_window, ...now }),
};

it.each(Object.keys(verbs))("%s overrides a window for an Admin alone", async (name) => {
  await using scene = await createScene(1);
  const { test, clock } = scene;
  const ends_at = new Date(clock.now() + 3_600_000).toISOString();
  const window = { reason: "the database moves", mode: "freeze" as const, ends_at };
  await test.orchestrator.maintenanceWindows.create(systemCaller, window);
  const begin = verbs[name]!;
  const operator = await test.signIn("Operator");
  await expect(begin(scene, operator.caller)).rejects.toMatchObject({ code: "FORBIDDEN" });
  expect((await test.orchestrator.operations.list(systemCaller)).items).toEqual([]);
  const admin = await test.signIn("Admin");
  await begin(scene, admin.caller);
  const { items } = await test.orchestrator.operations.list(systemCaller);
  expect(items).toMatchObject([{ status: "running", override_window }]);
});

it("that a window was overridden is told with the window, and with all agents that it was asked for on", async () => {
  await using scene = await createScene(2, (at) => ({ role: at === 0 ? "web" : "db" }));
  const { test, clock } = scene;
  const ends_at = new Date(clock.now() + 3_600_000).toISOString();
  const window = { reason: "the database moves", mode: "freeze" as const, ends_at, selector: "role=db" };
  const { id } = await test.orchestrator.maintenanceWindows.create(systemCaller, window);
  await verbs["rollouts.apply"]!(scene, systemCaller);
  const told = test.events.find(({ event_type }) => event_type === "maintenance.overridden");
  expect(told?.metadata).toEqual({ window_id: id, kind: "apply", matched: 2 });
});
