import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { AssignmentDocument } from "../../lib/assignments/documents.ts";
import { toJsonObject } from "../../lib/json.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";

const file = (name: string, content: string, more = ""): string =>
  `name: ${name}\n${more}resources:\n  - { id: f, type: file, path: /etc/f, content: "${content}" }\n`;
const conflict = { code: "RESOURCE_CONFLICT" };

/** Agents a1 (env=prod) and a2 (env=dev), and modules that say different things of /etc/f. */
async function scene(...modules: string[]): Promise<Scene> {
  const made = await createScene(2, (at) => ({ env: at === 0 ? "prod" : "dev" }));
  for (const content of modules.length > 0 ? modules : [file("one", "1"), file("two", "2")])
    await made.test.orchestrator.modules.upload(systemCaller, { content });
  return made;
}

const assign = (test: TestOrchestrator, name: string, selector: string, ...modules: string[]) =>
  test.orchestrator.assignments.create(systemCaller, { name, selector, modules });

const names = async (test: TestOrchestrator): Promise<string[]> =>
  (await test.orchestrator.assignments.list(systemCaller)).items.map(({ name }) => name);

/** A storage that another process writes an assignment to, as this one does it, right before a commit. */
class SharedStorage extends MemoryStorage {
  elsewhere: Readonly<AssignmentDocument> | null = null;

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    const mark = args[0].find((write) => write.kind === "put" && write.collection === "assignment_agreement");
    const { elsewhere } = this;
    if (elsewhere && mark) {
      this.elsewhere = null;
      const value = toJsonObject(elsewhere);
      await super.commit([{ kind: "put", collection: "assignments", key: elsewhere.name, value }, mark]);
    }
    return super.commit(...args);
  }
}

describe("two assignments that contradict each other on an agent", () => {
  it("are found when the second is made, by both names, and nothing is stored", async () => {
    await using made = await scene();
    await assign(made.test, "first", "*", "one");
    await expect(assign(made.test, "second", "env=prod", "two")).rejects.toMatchObject({
      ...conflict,
      message:
        "Assignments second and first match the same agents: two/f and one/f describe path:/etc/f differently.",
      details: {
        assignments: ["second", "first"],
        identity: "path:/etc/f",
        first: { module: "two", resource_id: "f" },
        second: { module: "one", resource_id: "f" },
      },
    });
    expect(await names(made.test)).toEqual(["all", "first"]);
  });

  it("are found when a change of selector, modules or params makes them so, and no other change is held up", async () => {
    const param = file("param", "{{ params.n }}", "params: { n: { type: string, default: '1' } }\n");
    await using made = await scene(file("one", "1"), file("two", "2"), param);
    const { assignments } = made.test.orchestrator;
    await assign(made.test, "first", "env=prod", "one");
    await assign(made.test, "second", "env=dev", "two");
    await assign(made.test, "third", "env=prod", "param");
    const change = (name: string, input: object) => assignments.update(systemCaller, { name, ...input });
    await expect(change("second", { selector: "*" })).rejects.toMatchObject(conflict);
    await expect(change("first", { modules: ["two"] })).rejects.toMatchObject(conflict);
    await expect(change("third", { params: { n: "3" } })).rejects.toMatchObject(conflict);
    // They come to share an agent: nobody is asked about that.
    const node_id = made.agents[1]!.nodeId;
    await made.test.orchestrator.agents.tags.set(systemCaller, { node_id, key: "env", value: "prod" });
    await made.test.orchestrator.agents.tags.set(systemCaller, { node_id, key: "env", value: "dev" });
    await change("second", { description: "other words", enforce: false, selector: "env=dev" });
  });

  describe("by giving one param different values", () => {
    const content = (name: string): string =>
      `name: ${name}
supports: ["os=linux"]
params:
  n: { type: string, default: '1' }
  m: { type: string, default: '1' }
resources:
  - { id: f, type: file, path: /etc/${name}, content: "{{ params.n }}" }
`;
    const given = { code: "RESOURCE_CONFLICT", details: { module: "one", param: "n" } };

    async function linux(): Promise<Scene & { create: (name: string, more: object) => Promise<unknown> }> {
      const made = await scene(content("one"), content("two"));
      const { agents, assignments } = made.test.orchestrator;
      for (const { nodeId: node_id } of made.agents)
        await agents.tags.set(systemCaller, { node_id, key: "os", value: "linux" });
      const create = (name: string, more: object) =>
        assignments.create(systemCaller, { name, selector: "*", modules: ["one"], ...more });
      return Object.assign(made, { create });
    }

    it("are found when the second is made, by both names", async () => {
      await using made = await linux();
      await made.create("first", { params: { n: "2" } });
      await expect(made.create("second", { params: { "one.n": "3" } })).rejects.toMatchObject({
        ...given,
        message: "Assignments second and first give param n of module one different values.",
        details: { assignments: ["second", "first"] },
      });
      expect(await names(made.test)).toEqual(["all", "first"]);
    });

    it("are found when a change of selector, modules or params makes them so", async () => {
      await using made = await linux();
      const change = (name: string, input: object) =>
        made.test.orchestrator.assignments.update(systemCaller, { name, ...input });
      await made.create("first", { selector: "env=prod", params: { n: "2" } });
      await made.create("dev", { selector: "env=dev", params: { n: "3" } });
      await made.create("other", { selector: "env=prod", modules: ["two"], params: { n: "4" } });
      await expect(change("dev", { selector: "env in (dev,prod)" })).rejects.toMatchObject(given);
      await expect(change("other", { modules: ["one"] })).rejects.toMatchObject(given);
      await expect(change("dev", { params: { n: "2" }, selector: "*" })).resolves.toBeDefined();
      await expect(change("dev", { params: { n: "4" } })).rejects.toMatchObject(given);
    });

    it("are none where no agent gets both, the values are the same, only one gives one, or the module is not shared", async () => {
      await using made = await linux();
      await made.create("first", { params: { n: "2" } });
      await made.create("nobody", { selector: "env=none", params: { n: "3" } });
      await made.create("same", { params: { "one.n": "2", m: "9" } });
      await made.create("silent", { params: {} });
      await made.create("elsewhere", { modules: ["two"], params: { n: "3" } });
      const { agents } = made.test.orchestrator;
      for (const { nodeId: node_id } of made.agents)
        await agents.tags.set(systemCaller, { node_id, key: "os", value: "bsd" });
      await made.create("unsupported", { params: { n: "5" } });
      expect(await names(made.test)).toHaveLength(7);
    });
  });

  it("are none where a param decides that one of them wants the resource and the other does not", async () => {
    const when = (name: string, text: string): string =>
      `name: ${name}
params: { on: { type: boolean, default: true } }
resources:
  - { id: f, type: file, path: /etc/f, content: "${text}", when: "param.on = true" }
`;
    await using made = await scene(when("one", "1"), when("two", "2"));
    const { assignments } = made.test.orchestrator;
    const create = (name: string, modules: string[], params: Record<string, boolean>) =>
      assignments.create(systemCaller, { name, selector: "*", modules, params });
    await create("first", ["one"], {});
    await expect(create("second", ["two"], {})).rejects.toMatchObject(conflict);
    await create("second", ["two"], { on: false });
    await expect(create("both", ["one", "two"], { "two.on": true })).rejects.toMatchObject(conflict);
    await assignments.update(systemCaller, { name: "second", modules: ["two"], params: { "two.on": false } });
  });

  it("are found when a new revision of a module makes them so", async () => {
    await using made = await scene(file("one", "1"), file("two", "1"));
    const { modules } = made.test.orchestrator;
    await assign(made.test, "first", "*", "one");
    await assign(made.test, "second", "env=prod", "two");
    await expect(modules.upload(systemCaller, { content: file("two", "2") })).rejects.toMatchObject({
      ...conflict,
      message: expect.stringContaining("Assignments second and first match the same agents: "),
    });
    expect((await modules.get(systemCaller, { name: "two" })).revision).toBe(1);
  });

  it("are none where no agent of now gets both, by selector, by condition or by what a module supports", async () => {
    const onDev = `name: dev\nresources:\n  - { id: f, type: file, path: /etc/f, content: "2", when: "env=dev" }\n`;
    const elsewhere = file("elsewhere", "3", 'supports: ["env=stage"]\n');
    await using made = await scene(file("one", "1"), file("two", "2"), onDev, elsewhere);
    await assign(made.test, "prod", "env=prod", "one");
    await assign(made.test, "other", "env=dev", "two");
    await assign(made.test, "conditional", "*", "dev");
    await assign(made.test, "unsupported", "*", "elsewhere");
    expect(await names(made.test)).toHaveLength(5);
  });

  it.each([
    [["env=prod"], true],
    [["env=dev", "env=prod"], true],
    [["env=prod", "env=dev"], true],
    [["env=stage", "env=test"], false],
  ] as const)("of a module that supports %j: %s", async (supports, isRefused) => {
    const some = file("some", "2", `supports: ${JSON.stringify(supports)}\n`);
    await using made = await scene(file("one", "1"), some);
    await assign(made.test, "first", "env=prod", "one");
    const second = assign(made.test, "second", "*", "some");
    if (isRefused) await expect(second).rejects.toMatchObject(conflict);
    else await second;
    expect(await names(made.test)).toHaveLength(isRefused ? 2 : 3);
  });

  it("are told of at the next plan where they come to share an agent later, or a template of the agent decides", async () => {
    const own = file("own", "{{ tags.env }}");
    await using made = await scene(file("one", "1"), file("two", "2"), own);
    const { agents, operations } = made.test.orchestrator;
    await assign(made.test, "first", "env=prod", "one");
    await assign(made.test, "second", "env=dev", "two");
    const node_id = made.agents[0]!.nodeId;
    const differ = (modules: string[] = []) =>
      operations.plan(systemCaller, { node_id, modules, wait_seconds: 0 });
    await agents.tags.set(systemCaller, { node_id, key: "env", value: "dev" });
    expect(await differ()).toMatchObject({ kind: "plan", modules: [{ name: "motd" }, { name: "two" }] });
    await expect(differ(["one"])).rejects.toMatchObject(conflict);
    await agents.tags.set(systemCaller, { node_id, key: "env", value: "prod" });
    await assign(made.test, "third", "env=prod", "own");
    await expect(differ()).rejects.toMatchObject(conflict);
  });

  it("are found whichever of two that are made at once comes first, and so is a module that becomes another", async () => {
    await using made = await scene(file("one", "1"), file("two", "2"), file("three", "1"));
    const { assignments, modules } = made.test.orchestrator;
    const both = [assign(made.test, "first", "*", "one"), assign(made.test, "second", "*", "two")];
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    const raced = [
      modules.upload(systemCaller, { content: file("three", "3") }),
      assign(made.test, "third", "*", "three"),
    ];
    expect((await Promise.allSettled(raced)).map(({ status }) => status).sort()).toEqual([
      "fulfilled",
      "rejected",
    ]);
    expect(await assignments.get(systemCaller, { name: "first" })).toMatchObject({ modules: ["one"] });
  });

  it.each(["a second assignment", "a revision of a module of it"])(
    "are found where another process makes the first between the look at and the write of %s",
    async (what) => {
      const clock = new FakeClock();
      const storage = new SharedStorage({ clock });
      await using made = await createScene(1, () => ({}), { clock, storage });
      const { modules } = made.test.orchestrator;
      const isRevision = what.startsWith("a revision");
      for (const content of [file("one", "1"), file("two", isRevision ? "1" : "2")])
        await modules.upload(systemCaller, { content });
      if (isRevision) await assign(made.test, "second", "*", "two");
      storage.elsewhere = { name: "first", selector: "*", modules: ["one"], created_at: "", created_by: "" };
      const written = isRevision
        ? modules.upload(systemCaller, { content: file("two", "2") })
        : assign(made.test, "second", "*", "two");
      await expect(written).rejects.toMatchObject(conflict);
      expect(await names(made.test)).toEqual(["all", "first", ...(isRevision ? ["second"] : [])]);
      expect((await modules.get(systemCaller, { name: "two" })).revision).toBe(1);
    },
  );

  it("leave others their turn while a module that many use is compared", async () => {
    await using made = await scene();
    await assign(made.test, "other", "env=dev", "two");
    for (let at = 0; at < 20; at += 1) await assign(made.test, `n${at}`, "env=prod", "one");
    let turns = 0;
    let isDone = false;
    const count = (): void => {
      turns += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    await made.test.orchestrator.modules.upload(systemCaller, { content: file("one", "3") });
    isDone = true;
    expect(turns).toBeGreaterThanOrEqual(20);
  });

  it("are no reason for any of a hundred at once to fail", async () => {
    await using made = await scene();
    const all = Array.from({ length: 150 }, (_, at) => assign(made.test, `n${at}`, "*", "one"));
    expect(await Promise.all(all)).toHaveLength(150);
  });
});
