/** What a change of a secret changes of it, what is told of that, and who may have it at which moment. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemCaller, type Secret } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { itemsOf } from "../support/all-pages.ts";
import { startApprovedAgent, type TestAgent } from "../support/fleet.ts";

let fleet: TestOrchestrator;
let agent: TestAgent;

beforeEach(async () => {
  fleet = await createTestOrchestrator({ secretsKey: new Uint8Array(32).fill(7) });
  agent = await startApprovedAgent(fleet);
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

const secrets = () => fleet.orchestrator.secrets;
const create = (more: object = {}): Promise<Secret> =>
  secrets().create(systemCaller, { name: "db", value: "the value", ...more });
const update = (more: object): Promise<Secret> => secrets().update(systemCaller, { name: "db", ...more });
const upload = (content: string) =>
  fleet.orchestrator.modules.upload(systemCaller, {
    content: `name: web\nresources:\n  - { id: a, type: file, path: /a, content: "${content}" }\n`,
  });
const plan = () =>
  fleet.orchestrator.operations.plan(systemCaller, { node_id: agent.nodeId, modules: ["web"] });
const inFuture = (ms: number): string => new Date(fleet.clock.now() + ms).toISOString();

it("each change says which fields were given, and with which version of the value it is", async () => {
  await create();
  const selector = { selector: "env=prod" };
  const changes: [given: object, changed: string[], value_version: number][] = [
    [{ value: "b" }, ["value"], 2],
    [{ value: "Yw==", encoding: "base64" }, ["value"], 3],
    [{ description: "Of the shop" }, ["description"], 3],
    [{ description: null }, ["description"], 3],
    [{ restriction: selector }, ["restriction"], 3],
    [{ restriction: null }, ["restriction"], 3],
    [{ expires_at: inFuture(1_000_000) }, ["expires_at"], 3],
    [{ expires_at: null }, ["expires_at"], 3],
    [
      { value: "d", restriction: selector, expires_at: inFuture(1_000_000), description: "All" },
      ["description", "expires_at", "restriction", "value"],
      4,
    ],
    [{}, [], 4],
  ];
  for (const [given] of changes) await update(given);
  const told = fleet.events.filter(({ event_type }) => event_type === "secret.updated");
  expect(told.map(({ metadata }) => metadata)).toEqual(
    changes.map(([, changed, value_version]) => ({ value_version, changed })),
  );
  expect(new Set(told.map(({ summary }) => summary))).toEqual(new Set(["Secret db was updated"]));
});

it("a change changes what was given and who changed it when, and nothing else", async () => {
  const created = await create({ description: "First", restriction: { selector: "env=prod" } });
  const { caller } = await fleet.signIn("Admin");
  await fleet.clock.advance(60_000);
  const now = new Date(fleet.clock.now()).toISOString();
  const after = { ...created, updated_at: now, updated_by: "admin" };
  const told = await secrets().update(caller, { name: "db", description: "Second" });
  expect(told).toEqual({ ...after, description: "Second", version: 2 });
  expect(await secrets().get(systemCaller, { name: "db" })).toEqual(told);
  const expires_at = inFuture(100_000_000);
  const later = await secrets().update(caller, { name: "db", expires_at, value: "other" });
  expect(later).toEqual({ ...told, expires_at, version: 3, value_version: 2 });
  const { restriction: _, expires_at: __, ...rest } = later;
  expect(await secrets().update(caller, { name: "db", restriction: null, expires_at: null })).toEqual({
    ...rest,
    version: 4,
  });
});

it("a value that is text once and bytes then is used as what it is", async () => {
  await create();
  await upload("{{ secrets.db }}");
  const binary = { value: "//79", encoding: "base64" };
  for (const [given, isText] of [
    [{ description: "x" }, true],
    [binary, false],
    [{ description: "y" }, false],
    [{ value: "text" }, true],
    [binary, false],
  ] as const) {
    await update(given);
    const planned = plan();
    if (isText) expect(await planned).toMatchObject({ status: "succeeded" });
    else
      await expect(planned).rejects.toMatchObject({
        code: "SECRET_UNAVAILABLE",
        message: expect.stringContaining("it is no text") as string,
      });
  }
  await upload("{{ secrets.db | base64_encode }}");
  expect(await plan()).toMatchObject({ status: "succeeded" });
});

it("a restriction with a selector and node_ids is for those that the one matches and those that the other names", async () => {
  await upload("{{ secrets.db }}");
  const { nodeId } = agent;
  const others = "0".repeat(32);
  const matching = `node_id=${nodeId}`;
  const cases: [object, boolean][] = [
    [{ selector: "env=prod", node_ids: [others] }, false],
    [{ selector: "env=prod", node_ids: [others, nodeId] }, true],
    [{ selector: matching, node_ids: [others] }, true],
    [{ selector: "env=prod" }, false],
    [{ node_ids: [others] }, false],
  ];
  await create();
  for (const [restriction, mayHave] of cases) {
    expect((await update({ restriction })).restriction).toEqual(restriction);
    const planned = await plan().then(
      () => true,
      (error: unknown) => (expect(String(error)).toContain("it is restricted to other agents"), false),
    );
    expect([restriction, planned]).toEqual([restriction, mayHave]);
  }
  expect(await update({ restriction: { node_ids: [nodeId, others, nodeId] } })).toMatchObject({
    restriction: { node_ids: [nodeId, others] },
  });
});

it("a secret is given up to the moment at which it expires, and from it on to nobody", async () => {
  const service = servicesOf(fleet.orchestrator).secrets;
  await upload("{{ secrets.db }}");
  const expires_at = inFuture(10_000);
  await create({ expires_at });
  await fleet.clock.advance(9_999);
  expect(await plan()).toMatchObject({ status: "succeeded" });
  expect(await service.resolveForServer("db")).toBeInstanceOf(Uint8Array);
  await fleet.clock.advance(1);
  const over = {
    code: "SECRET_UNAVAILABLE",
    message: expect.stringContaining("it has expired") as string,
  };
  await expect(plan()).rejects.toMatchObject(over);
  await expect(service.resolveForServer("db")).rejects.toMatchObject(over);
  await update({ expires_at: null });
  expect(await plan()).toMatchObject({ status: "succeeded" });
  expect(await service.resolveForServer("db")).toBeInstanceOf(Uint8Array);
});

it("secrets are listed by name, page by page, as each is read by itself", async () => {
  for (const name of ["b", "d", "a", "c"]) await secrets().create(systemCaller, { name, value: "value" });
  const each = await Promise.all(["a", "b", "c", "d"].map((name) => secrets().get(systemCaller, { name })));
  for (const limit of [1, 2, 3, 4, 5]) {
    const found = await itemsOf((page) => secrets().list(systemCaller, page), limit);
    expect(found).toEqual(each);
  }
});

it("a name that comes and goes any number of times has no version twice, and takes none of before", async () => {
  const versions: number[] = [];
  const value_versions: number[] = [];
  const note = ({ version, value_version }: Secret): void => {
    versions.push(version);
    if (value_versions.at(-1) !== value_version) value_versions.push(value_version);
  };
  for (let life = 0; life < 4; life += 1) {
    note(await create());
    for (let each = 0; each <= life; each += 1) note(await update({ value: `value ${life} ${each}` }));
    note(await update({ description: `Life ${life}` }));
    const current = versions.at(-1)!;
    for (const old of versions.slice(0, -1))
      for (const change of [
        secrets().update(systemCaller, { name: "db", value: "old" }, { ifVersion: [old] }),
        secrets().remove(systemCaller, { name: "db" }, { ifVersion: [old] }),
      ])
        await expect(change).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
    await secrets().remove(systemCaller, { name: "db" }, { ifVersion: [current] });
  }
  for (const numbers of [versions, value_versions])
    expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
});

it.each([
  ["first", "m1", "m2"],
  ["last", "m2", "m1"],
])(
  "an agent is found as long as one of two modules has an old value, where the %s one gets the new one first",
  async (_, first, then) => {
    await create();
    for (const name of ["m1", "m2"])
      await fleet.orchestrator.modules.upload(systemCaller, {
        content: `name: ${name}\nresources:\n  - { id: a, type: file, path: /${name}, content: "{{ secrets.db }}" }\n`,
      });
    const apply = async (...modules: string[]): Promise<number> => {
      const { operations, agents } = fleet.orchestrator;
      const applied = await operations.apply(systemCaller, { node_id: agent.nodeId, modules });
      expect(applied.status).toBe("succeeded");
      return (await agents.list(systemCaller, { secret_before: "db@2" })).items.length;
    };
    await apply("m1", "m2");
    await update({ value: "another" });
    expect(await apply(first)).toBe(1);
    expect(await apply(then)).toBe(0);
  },
);
