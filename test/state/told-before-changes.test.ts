/** What the caller is told around a change, in order: what is handed over, what begins, and what turned out to be as it was. */
import { expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import { hostError } from "../../lib/host/host-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { BegunChange } from "../../lib/state/run/state-run.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

/** An apply with a log of what it told. */
async function told(state: StateFixture, definitions: JsonObject[]): Promise<string[]> {
  const log: string[] = [];
  const { results } = await state.run("apply", declare(definitions), {
    beforeChanges: async (captured) =>
      void log.push(...captured.map(({ identity, prior }) => `${identity} was ${prior?.type ?? "nothing"}`)),
    onBegun: ({ identity }) => void log.push(`${identity} begins`),
    onUntouched: (identity) => void log.push(`${identity} is as it was`),
  });
  expect(results.at(-1)?.outcome).toBe("changed");
  return log;
}

test("what differs only by its turn is handed over before it is changed, also with nothing to come back to", async () => {
  const state: StateFixture = new StateFixture(
    createMachine({ meddle: () => (state.write("/conf", "theirs"), state.write("/done", ""), {}) }),
  );
  state.write("/conf", "ours");
  expect(
    await told(state, [
      { id: "s", type: "script", run: ["meddle"], creates: "/done" },
      { id: "f", type: "file", path: "/conf", content: "ours", backup: false },
    ]),
  ).toEqual(["script:m/s was nothing", "script:m/s begins", "path:/conf was nothing", "path:/conf begins"]);
});

test("what a try left as it was is handed over again before the next, also with nothing to come back to", async () => {
  const state = new StateFixture(createMachine(), systemClock);
  state.write("/conf", "theirs");
  const write = state.host.files.writeFile.bind(state.host.files);
  let tries = 0;
  state.host.files.writeFile = (path, content, attributes) => {
    tries += 1;
    if (tries === 1) throw hostError(path, "ENOSPC");
    write(path, content, attributes);
  };
  const retry = { attempts: 2, delay_seconds: 0 };
  expect(
    await told(state, [{ id: "f", type: "file", path: "/conf", content: "ours", backup: false, retry }]),
  ).toEqual([
    "path:/conf was nothing",
    "path:/conf begins",
    "path:/conf is as it was",
    "path:/conf was nothing",
    "path:/conf begins",
  ]);
});

test("a change says what is wanted there where an earlier run handed over what stood, and how a link on the way is spelled", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/real", { mode: 0o755 });
  state.host.files.makeSymlink("/way", "/real");
  const begun: BegunChange[] = [];
  const apply = async (definitions: JsonObject[]): Promise<BegunChange[]> => {
    const from = begun.length;
    await state.run("apply", declare(definitions), { onBegun: (change) => void begun.push(change) });
    return begun.slice(from);
  };
  const [identity, spelled] = ["path:/real/conf", "path:/way/conf"];
  const conf = { id: "f", type: "file", path: "/way/conf", content: "one" };
  expect(await apply([conf])).toEqual([{ identity, spelled, removal: false }]);
  const [resource] = declare([{ ...conf, content: "two" }]);
  expect(await apply([{ ...conf, content: "two" }])).toEqual([
    {
      identity,
      spelled,
      removal: false,
      resource: { ...resource, identity: "/real/conf", spec: { ...resource!.spec, path: "/real/conf" } },
    },
  ]);
  expect(await apply([])).toEqual([{ identity, removal: true }]);
  expect(await apply([{ ...conf, path: "/real/conf" }])).toEqual([{ identity, removal: false }]);
});

test("whoever may refuse a change is not asked again where a try has begun it: by then it is called otherwise", async () => {
  const state = new StateFixture(createMachine(), systemClock);
  const write = state.host.files.writeFile.bind(state.host.files);
  let tries = 0;
  state.host.files.writeFile = (path, content, attributes) => {
    tries += 1;
    write(path, tries === 1 ? Buffer.from("half") : content, attributes);
    if (tries === 1) throw new Error("It broke behind that.");
  };
  const asked: string[] = [];
  const retry = { attempts: 2, delay_seconds: 0 };
  const run = await state.run(
    "apply",
    declare([{ id: "f", type: "file", path: "/conf", content: "ours", retry }]),
    {
      confirm: () => (_resource, action) => {
        asked.push(action);
        if (action !== "create") throw new OrchestratorError("PLAN_STALE");
      },
    },
  );
  expect(outcomes(run)).toEqual(["f changed"]);
  expect(asked).toEqual(["create"]);
});

test("who watches what only follows an earlier run is told at the beginning, with all the others", async () => {
  const state = new StateFixture(createMachine({ broken: () => ({ exitCode: 1 }) }));
  const conf = { id: "conf", type: "file", path: "/conf", content: "x" };
  const load = (run: string) => ({ id: "load", type: "script", run: [run], run_on: ["conf"] });
  await state.run("apply", declare([conf, load("broken")]));
  expect(state.owed).toHaveLength(1);
  const watching: string[][] = [];
  const mine = createMachine({ works: () => ({}) });
  mine.files.writeFile("/conf", Buffer.from("x"), { mode: 0o644 });
  await state.run(
    "apply",
    declare([
      conf,
      load("works"),
      { id: "then", type: "script", run: ["works"], run_on: ["load"] },
      { id: "other", type: "file", path: "/other", content: "x" },
    ]),
    {
      host: mine,
      beforeChanges: async (_captured, watchers) =>
        void watching.push(watchers.map(({ resource_id }) => resource_id)),
    },
  );
  expect(watching[0]).toEqual(["then"]);
  expect(watching.flat()).toEqual(["then"]);
});
