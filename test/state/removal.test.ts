import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import { hostError } from "../../lib/host/host-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ResourceTypes } from "../../lib/state/resource-type.ts";
import { backupsOf } from "../../lib/state/resources/file/prior.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const folder = { id: "folder", type: "directory", path: "/srv" };
const inside = { id: "inside", type: "file", path: "/srv/a", content: "a" };

test("a folder goes with what we put into it, and the plan knows", async () => {
  const state = new StateFixture();
  await state.run("apply", declare([folder, inside]));
  expect(outcomes(await state.run("plan", []))).toEqual(["inside would_change", "folder would_change"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["inside changed", "folder changed"]);
  expect(state.applied).toEqual([]);
});

test("a folder that holds something of others is left, and the result says so", async () => {
  const state = new StateFixture();
  await state.run("apply", declare([folder, inside]));
  state.write("/srv/theirs", "x");
  expect(outcomes(await state.run("plan", []))).toEqual(["inside would_change", "folder unchanged"]);
  const run = await state.run("apply", []);
  expect(run.results[1]).toMatchObject({
    outcome: "unchanged",
    message: expect.stringContaining("left as it is"),
  });
  expect(state.host.files.list("/srv")).toEqual(["theirs"]);
  expect(state.applied).toEqual([]);
});

test("a removal that can't succeed is told each time, and makes no later run partial for what that did right", async () => {
  const state = new StateFixture();
  await state.run("apply", declare([folder, inside]));
  state.host.files.removeFile("/srv/a");
  state.host.files.makeDirectory("/srv/a", {});
  const of = (content: string) => declare([{ id: "other", type: "file", path: "/other", content }]);
  const first = await state.run("apply", of("1"));
  expect([first.status, outcomes(first)[0]]).toEqual(["partial", "inside failed"]);
  expect(first.results[0]).toMatchObject({ action: "remove" });
  for (const [content, outcome] of [
    ["2", "changed"],
    ["2", "unchanged"],
  ] as const) {
    const plan = await state.run("plan", of(content));
    expect([plan.status, outcomes(plan)[0]]).toEqual(["succeeded", "inside failed"]);
    const later = await state.run("apply", of(content));
    expect(later.status).toBe("succeeded");
    expect(outcomes(later)).toEqual(["inside failed", "folder unchanged", `other ${outcome}`]);
  }
  // Wanted again and given up again it is a removal as any other.
  state.host.files.removeDirectory("/srv/a");
  await state.run("apply", [...declare([folder, inside]), ...of("2")]);
  state.host.files.removeFile("/srv/a");
  state.host.files.makeDirectory("/srv/a", {});
  expect((await state.run("apply", of("2"))).status).toBe("failed");
});

test("a removal that fails is tried again by the next run, and stops nothing", async () => {
  const state = new StateFixture();
  await state.run("apply", declare([folder, inside]));
  state.host.files.removeFile("/srv/a");
  state.host.files.makeDirectory("/srv/a", {});
  const other = declare([{ id: "other", type: "file", path: "/other" }]);
  expect(outcomes(await state.run("apply", other))).toEqual([
    "inside failed",
    "folder unchanged",
    "other changed",
  ]);
  state.host.files.removeDirectory("/srv/a");
  expect(outcomes(await state.run("apply", other))).toEqual([
    "inside unchanged",
    "folder changed",
    "other unchanged",
  ]);
});

test("a path that moves to another module or type is not removed, and comes back as it was at first", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", declare([{ id: "f", type: "file", path: "/conf", content: "ours" }], "one"));
  const link = declare([{ id: "l", type: "symlink", path: "/conf", target: "other", force: true }], "two");
  expect(outcomes(await state.run("apply", link))).toEqual(["l changed"]);
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("theirs");
});

test("what stood before is what stood before the first change, however often it was changed since", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  for (const content of ["one", "two"]) {
    await state.run("apply", declare([{ id: "f", type: "file", path: "/conf", content }]));
  }
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("theirs");
});

test("without a backup the file stays as we left it", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run(
    "apply",
    declare([{ id: "f", type: "file", path: "/conf", content: "ours", backup: false }]),
  );
  expect(outcomes(await state.run("apply", []))).toEqual(["f unchanged"]);
  expect(state.read("/conf")).toBe("ours");
});

test("the undo of a script is the one of its last version", async () => {
  const ran: string[] = [];
  let done = false;
  const host = createMachine({
    do: () => ((done = true), {}),
    isDone: () => ({ exitCode: done ? 0 : 1 }),
    undo: ({ argv }) => (ran.push(argv[1] ?? ""), (done = false), {}),
  });
  const script = (version: string) =>
    declare([{ id: "s", type: "script", run: ["do"], check: ["isDone"], undo: ["undo", version] }]);
  const state = new StateFixture(host);
  await state.run("apply", script("1"));
  await state.run("apply", script("2"));
  expect(outcomes(await state.run("apply", []))).toEqual(["s changed"]);
  expect(ran).toEqual(["2"]);
});

test.each(["", `$secret$password@1$text$${"0".repeat(32)}$`])(
  "a script whose undo did its work and failed is not ours any more, with or without a secret in it: %#",
  async (placeholder) => {
    let isDone = true;
    const undo = (): object => (isDone && state.host.files.removeFile("/done"), { exitCode: 1 });
    const work = (): object => (state.write("/done", ""), {});
    const state: StateFixture = new StateFixture(createMachine({ work, undo }));
    const script = { id: "s", type: "script", run: ["work"], creates: "/done", undo: ["undo"] };
    const reveal = (spec: JsonObject): JsonObject =>
      placeholder === "" ? spec : { ...spec, environment: { PASSWORD: "hunter2" } };
    const desired = declare([{ ...script, environment: { PASSWORD: placeholder } }]);
    expect(outcomes(await state.run("apply", desired, { reveal }))).toEqual(["s changed"]);
    isDone = false;
    expect(outcomes(await state.run("apply", []))).toEqual(["s failed"]);
    expect(state.applied).toHaveLength(1);
    isDone = true;
    expect(outcomes(await state.run("apply", []))).toEqual(["s failed"]);
    expect(state.applied).toEqual([]);
  },
);

test("a script whose work was done by somebody else and that only followed a change is not undone", async () => {
  const undo = (): object => (state.host.files.removeFile("/done"), {});
  const state: StateFixture = new StateFixture(createMachine({ follow: () => ({}), undo }));
  state.write("/done", "");
  const first = await state.run(
    "apply",
    declare([
      { id: "conf", type: "file", path: "/conf", content: "x" },
      { id: "s", type: "script", run: ["follow"], creates: "/done", undo: ["undo"], run_on: ["conf"] },
    ]),
  );
  expect(outcomes(first)).toEqual(["conf changed", "s changed"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["s unchanged", "conf changed"]);
  expect(state.host.files.stat("/done")).not.toBeNull();
});

test.each([
  ["can't be started", hostError("work", "ENOENT"), false],
  ["does its work and gets no answer", new OrchestratorError("RESOURCE_TIMEOUT"), true],
  ["does its work and breaks", new TypeError("no"), true],
])("a script that %s is ours as far as it may have done anything", async (_how, error, isDone) => {
  const work = (): object => {
    if (isDone) state.write("/done", "");
    throw error;
  };
  const undo = (): object => (state.host.files.removeFile("/done"), {});
  const state: StateFixture = new StateFixture(createMachine({ work, undo }));
  const script = { id: "s", type: "script", run: ["work"], creates: "/done", undo: ["undo"] };
  expect(outcomes(await state.run("apply", declare([script])))).toEqual(["s failed"]);
  expect(state.applied).toHaveLength(isDone ? 1 : 0);
  expect(outcomes(await state.run("apply", []))).toEqual(isDone ? ["s changed"] : []);
  expect(state.host.files.stat("/done")).toBeNull();
});

test("a failure in the middle still remembers what to come back to", async () => {
  const host = createMachine();
  const state = new StateFixture(host);
  state.write("/conf", "theirs");
  const write = host.files.writeFile.bind(host.files);
  host.files.writeFile = (path, content, attributes) => {
    write(path, content, attributes);
    throw new Error("It broke right behind.");
  };
  const definition = { id: "f", type: "file", path: "/conf", content: "ours" };
  expect(outcomes(await state.run("apply", declare([definition])))).toEqual(["f failed"]);
  expect(state.applied).toMatchObject([{ prior: { spec: { path: "/conf", ensure: "present" } } }]);
  host.files.writeFile = write;
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("theirs");
});

test("the backups that are still needed are known", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", declare([folder, { id: "f", type: "file", path: "/conf", content: "ours" }]));
  state.host.backups.prune(backupsOf(state.applied));
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("theirs");
  expect(backupsOf(state.applied)).toEqual(new Set());
});

test("what is to be kept is let go of, and stays as it is for good", async () => {
  const state = new StateFixture();
  state.write("/kept", "theirs");
  const kept = { id: "kept", type: "file", path: "/kept", content: "ours", removal: "keep" };
  await state.run("apply", declare([kept, { ...inside, path: "/a" }]));
  const plan = await state.run("plan", []);
  expect(outcomes(plan)).toEqual(["inside would_change", "kept unchanged"]);
  const run = await state.run("apply", []);
  expect(run.results[1]).toMatchObject({
    outcome: "unchanged",
    action: "none",
    message: "It is left as it is: it is to be kept.",
  });
  expect([state.read("/kept"), state.applied]).toEqual(["ours", []]);
  // Who declares it again begins anew: what stands there now is what comes back.
  await state.run("apply", declare([{ ...kept, content: "again", removal: "restore" }]));
  await state.run("apply", []);
  expect(state.read("/kept")).toBe("ours");
});

test.each([false, true])(
  "what was wanted last decides what becomes of it, also beside a removal that fails (before it: %j)",
  async (isFirst) => {
    const state = new StateFixture();
    const of = (removal: string) => {
      const kept = { id: "f", type: "file", path: "/f", removal };
      return declare(isFirst ? [kept, folder, inside] : [folder, inside, kept]);
    };
    await state.run("apply", of("keep"));
    await state.run("apply", of("restore"));
    expect(outcomes(await state.run("plan", []))).toContain("f would_change");
    await state.run("apply", of("keep"));
    state.host.files.removeFile("/srv/a");
    state.host.files.makeDirectory("/srv/a", {});
    state.host.files.makeDirectory("/srv/a/theirs", {});
    const failed = ["inside failed", "folder unchanged"];
    const expected = isFirst ? [...failed, "f unchanged"] : ["f unchanged", ...failed];
    expect(outcomes(await state.run("apply", []))).toEqual(expected);
    expect(state.applied.map(({ resource }) => resource.resource_id)).not.toContain("f");
    expect(state.host.files.stat("/f")).not.toBeNull();
  },
);

test("a run without a person leaves what is not desired any more, says so, and the next one removes it", async () => {
  const state = new StateFixture();
  const kept = { id: "kept", type: "file", path: "/kept", removal: "keep" };
  await state.run("apply", declare([folder, inside, kept]));
  const other = declare([{ id: "other", type: "file", path: "/other" }]);
  const held = await state.run("apply", other, { holdRemovals: true });
  expect(outcomes(held)).toEqual(["kept unchanged", "inside skipped", "folder skipped", "other changed"]);
  expect(held.status).toBe("succeeded");
  expect(held.results[1]).toMatchObject({
    action: "none",
    skipped_because: "unattended",
    message: "It is not desired any more, and left for an apply that somebody asks for.",
  });
  expect(state.read("/srv/a")).toBe("a");
  expect(outcomes(await state.run("plan", other))).toEqual([
    "inside would_change",
    "folder would_change",
    "other unchanged",
  ]);
  await state.run("apply", other);
  expect(state.host.files.stat("/srv")).toBeNull();
});

test("what is held back stays ours, though it stands as it did before us by then", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", declare([{ ...inside, path: "/conf" }]));
  state.write("/conf", "theirs");
  expect(outcomes(await state.run("apply", [], { holdRemovals: true }))).toEqual(["inside skipped"]);
  expect(state.applied).toHaveLength(1);
  expect(outcomes(await state.run("apply", []))).toEqual(["inside unchanged"]);
  expect(state.applied).toEqual([]);
});

test("beside a removal that fails, a folder that had its mode alone from us and is gone by then is forgotten", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/theirs", { mode: 0o755 });
  const moded = { id: "moded", type: "directory", path: "/theirs", mode: "0700" };
  await state.run("apply", declare([moded, folder, inside]));
  state.host.files.removeDirectory("/theirs");
  state.host.files.removeFile("/srv/a");
  state.host.files.makeDirectory("/srv/a", {});
  expect(outcomes(await state.run("apply", []))).toEqual([
    "inside failed",
    "folder unchanged",
    "moded unchanged",
  ]);
  expect(state.applied.map(({ resource }) => resource.resource_id)).toEqual(["folder", "inside"]);
});

test("a removal that was cut off by a cancel is none that can't succeed", async () => {
  const state = new StateFixture();
  await state.run("apply", declare([{ ...inside, path: "/a" }]));
  const stop = new AbortController();
  const file = resourceTypes.get("file")!;
  const failing = (before: () => void): ResourceTypes =>
    new Map([
      ...resourceTypes,
      [
        "file",
        {
          ...file,
          apply() {
            before();
            throw new OrchestratorError("HOST_ERROR", { message: "It stays." });
          },
        },
      ],
    ]);
  const cut = failing(() => stop.abort(new OrchestratorError("CANCELLED")));
  await state.run("apply", [], { signal: stop.signal, types: cut });
  const types = failing(() => {});
  expect((await state.run("apply", [], { types })).status).toBe("failed");
  expect((await state.run("apply", [], { types })).status).toBe("succeeded");
  expect((await state.run("apply", [])).results).toMatchObject([{ outcome: "changed", action: "remove" }]);
});
