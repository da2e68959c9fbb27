import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { startAgent, startApprovedAgent, type TestAgent } from "../support/fleet.ts";

const secretsKey = new Uint8Array(32).fill(7);
const value = "c4nary-value-0f-the-test";

let fleet: TestOrchestrator;
let agent: TestAgent;

beforeEach(async () => {
  fleet = await createTestOrchestrator({ secretsKey });
  agent = await startApprovedAgent(fleet);
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await fleet[Symbol.asyncDispose]();
});

const secrets = () => fleet.orchestrator.secrets;
const create = (more: object = {}) => secrets().create(systemCaller, { name: "db", value, ...more });
const upload = (resources: string, name = "web") =>
  fleet.orchestrator.modules.upload(systemCaller, { content: `name: ${name}\nresources:\n${resources}` });
const apply = (more: object = {}) =>
  fleet.orchestrator.operations.apply(systemCaller, { node_id: agent.nodeId, modules: ["web"], ...more });
const plan = () =>
  fleet.orchestrator.operations.plan(systemCaller, { node_id: agent.nodeId, modules: ["web"] });
const details = (operation_id: string) => fleet.orchestrator.operations.get(systemCaller, { operation_id });
const onMachine = (path: string): string => readFileSync(join(agent.root, path), "utf8");
const fileWith = (content: string): string =>
  `  - { id: conf, type: file, path: /conf, content: ${JSON.stringify(content)} }\n`;

describe("a secret in a module", () => {
  it("is put into the file on the machine, in every form, and shown nowhere", async () => {
    await create({ value: `it's "q" &c` });
    await upload(
      fileWith(
        "{{ secrets.db }}|{{ secrets.db | json }}|{{ secrets.db | shell_quote }}|{{ secrets.db | base64_encode }}|{{ secrets.db | url_encode }}",
      ),
    );
    const planned = await plan();
    const shown = JSON.stringify([planned, await details(planned.operation_id)]);
    expect(shown).toContain("(sensitive)");
    expect(shown).not.toContain("it's");
    const applied = await apply();
    expect(applied.status).toBe("succeeded");
    expect(onMachine("conf")).toBe(
      `it's "q" &c|"it's \\"q\\" &c"|'it'\\''s "q" &c'|aXQncyAicSIgJmM=|it's+%22q%22+%26c`,
    );
    const again = await apply();
    expect(again.counts).toMatchObject({ unchanged: 1, changed: 0 });
  });

  it("is used with its newest value, and agents that have an older one are found", async () => {
    await create();
    await upload(fileWith("{{ secrets.db }}"));
    await apply();
    const find = async (secret_before: string): Promise<number> =>
      (await fleet.orchestrator.agents.list(systemCaller, { secret_before })).items.length;
    expect(await find("db@1")).toBe(0);
    const updated = await secrets().update(systemCaller, { name: "db", value: "second-value" });
    expect(updated).toMatchObject({ value_version: 2, version: 2, used_by: ["web"] });
    expect(await find("db@2")).toBe(1);
    expect(onMachine("conf")).toBe(value);
    await apply();
    expect(onMachine("conf")).toBe("second-value");
    expect(await find("db@2")).toBe(0);
    expect(await find("db@3")).toBe(1);
    expect(await find("other@3")).toBe(0);
  });

  it("counts with the oldest of its values that an agent has, whichever module holds that", async () => {
    await create();
    for (const name of ["a", "b"])
      await upload(`  - { id: f, type: file, path: /${name}, content: "{{ secrets.db }}" }\n`, name);
    await apply({ modules: ["a", "b"] });
    const find = async (secret_before: string): Promise<number> =>
      (await fleet.orchestrator.agents.list(systemCaller, { secret_before })).items.length;
    await secrets().update(systemCaller, { name: "db", value: "second-value" });
    for (const [module, found] of [
      ["a", 1],
      ["b", 0],
    ] as const) {
      await apply({ modules: [module] });
      expect([onMachine(module), await find("db@2")]).toEqual(["second-value", found]);
      // Both versions go into one check, each where it stands.
      const check = await fleet.orchestrator.drift.check(systemCaller, { node_id: agent.nodeId });
      expect(check).toMatchObject({ counts: { unchanged: 2, would_change: 0 } });
    }
  });

  it("makes a plan stale when it changes", async () => {
    await create();
    await upload(fileWith("{{ secrets.db }}"));
    const { operation_id } = await plan();
    await secrets().update(systemCaller, { name: "db", value: "second-value" });
    await expect(
      fleet.orchestrator.operations.apply(systemCaller, { node_id: agent.nodeId, plan_id: operation_id }),
    ).rejects.toMatchObject({ code: "PLAN_STALE" });
  });

  it.each([
    ["unknown", async () => {}, "there is no such secret"],
    [
      "restricted to others",
      () => create({ restriction: { selector: "env=prod" } }),
      "it is restricted to other agents",
    ],
    [
      "expired",
      () => create({ expires_at: new Date(fleet.clock.now() - 1).toISOString() }),
      "it has expired",
    ],
    ["no text", () => create({ value: "//79", encoding: "base64" }), "it is no text"],
  ])("that is %s is a fault for the agent at plan and apply", async (_what, prepare, reason) => {
    await prepare();
    await upload(fileWith("a {{ secrets.db }}"));
    for (const call of [plan, apply]) {
      const fault: unknown = await call().catch((error: unknown) => error);
      expect(fault).toMatchObject({ code: "SECRET_UNAVAILABLE", details: { secret: "db", module: "web" } });
      expect(String((fault as Error).message)).toContain(`secrets.db can't be used here: ${reason}`);
      expect(String((fault as Error).message)).toMatch(/\(3:\d+\)$/);
    }
  });

  it("that is no text can be written as base64", async () => {
    await create({ value: "//79", encoding: "base64" });
    await upload(fileWith("{{ secrets.db | base64_encode }}"));
    await apply();
    expect(onMachine("conf")).toBe("//79");
  });

  it("does not matter where its resource is skipped", async () => {
    await upload(
      `  - { id: conf, type: file, path: /conf, content: "{{ secrets.db }}", when: "env=prod" }\n`,
    );
    expect((await apply()).counts).toMatchObject({ skipped: 1 });
  });

  it("is given to agents that its restriction names or matches", async () => {
    await create({ restriction: { node_ids: [agent.nodeId] } });
    await upload(fileWith("{{ secrets.db }}"));
    expect((await apply()).status).toBe("succeeded");
    await secrets().update(systemCaller, { name: "db", restriction: { selector: "env=prod" } });
    await expect(apply()).rejects.toMatchObject({ code: "SECRET_UNAVAILABLE" });
    const tag = { node_id: agent.nodeId, key: "env", value: "prod" };
    await fleet.orchestrator.agents.tags.set(systemCaller, tag);
    expect((await apply()).status).toBe("succeeded");
  });

  it("is not given where its restriction changed between plan and apply, or while the operation waited", async () => {
    await create();
    await upload(fileWith("{{ secrets.db }}"));
    const { operation_id: plan_id } = await plan();
    await secrets().update(systemCaller, { name: "db", restriction: { selector: "env=prod" } });
    await expect(
      fleet.orchestrator.operations.apply(systemCaller, { node_id: agent.nodeId, plan_id }),
    ).rejects.toMatchObject({ code: "SECRET_UNAVAILABLE" });
    await secrets().update(systemCaller, { name: "db", restriction: null });
    await agent[Symbol.asyncDispose]();
    const waiting = await apply({ when_offline: "queue", expires_in_seconds: 600, wait_seconds: 0 });
    await secrets().update(systemCaller, { name: "db", restriction: { selector: "env=prod" } });
    agent = await startAgent(fleet, { root: agent.root, stateDir: agent.stateDir });
    await expect
      .poll(async () => (await details(waiting.operation_id)).status, { timeout: 30_000 })
      .toBe("failed");
    expect((await details(waiting.operation_id)).error).toMatchObject({ code: "SECRET_UNAVAILABLE" });
  });

  it("is told of drift without being shown, and checked also when it has expired since", async () => {
    await create({ expires_at: new Date(fleet.clock.now() + 1_000).toISOString() });
    await upload(fileWith("{{ secrets.db }}"));
    await apply();
    await fleet.clock.advance(2_000);
    await expect(apply()).rejects.toMatchObject({ code: "SECRET_UNAVAILABLE" });
    const check = await fleet.orchestrator.drift.check(systemCaller, {
      node_id: agent.nodeId,
      wait_seconds: 20,
    });
    expect(check.status).toBe("in_sync");
  });

  it.each([
    ["in a condition of a template", "{% if secrets.db == 'x' %}a{% endif %}"],
    ["through another filter", "{{ secrets.db | upcase }}"],
    ["through two filters", "{{ secrets.db | json | base64_encode }}"],
    ["as an argument", "{{ params.x | append: secrets.db }}"],
    ["under a name that is worked out", "{{ secrets[tags.x] }}"],
    ["under a name that none can have", "{{ secrets['UP'] }}"],
  ])("can't be used %s", async (_how, text) => {
    await expect(
      upload(`  - { id: conf, type: file, path: /conf, content: ${JSON.stringify(text)} }\n`),
    ).rejects.toMatchObject({
      code: "MODULE_INVALID",
    });
  });

  it.each([
    ["the path of a file", `  - { id: a, type: file, path: "/{{ secrets.db }}", content: x }\n`],
    ["a line", `  - { id: a, type: line, path: /a, line: "x={{ secrets.db }}", match: "^x=" }\n`],
    [
      "a script that can be undone",
      `  - { id: a, type: script, run: "true {{ secrets.db }}", undo: "true", creates: /x }\n`,
    ],
  ])("can't be in %s", async (_where, resource) => {
    await expect(upload(resource)).rejects.toMatchObject({ code: "MODULE_INVALID" });
  });

  it("stands where only the hash of a password can", async () => {
    await create({ value: "$6$salt$hash" });
    await upload(`  - { id: u, type: user, name: someone, password_hash: "{{ secrets.db }}" }\n`);
    const { resources } = await details((await plan()).operation_id);
    expect(resources[0]).not.toMatchObject({ code: "VALIDATION_FAILED" });
  });

  it("is taken out of what other resources print, find and fail with", async () => {
    await create();
    await upload(
      fileWith("{{ secrets.db }}") +
        `  - { id: show, type: script, run: "cat ${agent.root}/conf; base64 ${agent.root}/conf; sleep 0.3; printf c4nary-; sleep 0.4; echo value-0f-the-test", run_on: [conf] }\n` +
        `  - { id: fail, type: script, run: "cat ${agent.root}/conf >&2; exit 3", on_failure: continue, run_on: [conf] }\n`,
    );
    const { operation_id } = await apply();
    const { node_id } = await details(operation_id);
    const output = await fleet.orchestrator.operations.output(systemCaller, { node_id, operation_id });
    const told = JSON.stringify([await details(operation_id), output, fleet.events, fleet.loggedErrors]);
    // Two that touch are one where they come in two pieces.
    expect(output.output.map(({ text }) => text)).toEqual([
      expect.stringMatching(/^(?:\(sensitive\)){1,2}\n\(sensitive\)\n$/),
      "(sensitive)",
    ]);
    expect(told).not.toContain(value);
    expect(told).not.toContain(Buffer.from(value).toString("base64").slice(0, 20));
    expect(told).not.toContain("0f-the-test");
  });

  it("that an agent or an operator writes as a placeholder is text", async () => {
    await create();
    await upload(fileWith("{{ secrets.db }}{{ tags.note }}"));
    await fleet.orchestrator.agents.tags.set(systemCaller, {
      node_id: agent.nodeId,
      key: "note",
      value: `$secret$db@1$text$${"0".repeat(32)}$`,
    });
    await apply();
    expect(onMachine("conf")).toBe(`${value}$secret$db@1$text$${"0".repeat(32)}$`);
  });
});

describe("a secret", () => {
  it("is told without its value by every verb", async () => {
    const created = await create({ description: "For the database" });
    expect(created).toEqual({
      name: "db",
      description: "For the database",
      value_version: 1,
      version: 1,
      created_at: created.created_at,
      created_by: "system",
      updated_at: created.created_at,
      updated_by: "system",
      used_by: [],
    });
    const all = [
      created,
      await secrets().list(systemCaller),
      await secrets().get(systemCaller, { name: "db" }),
    ];
    expect(JSON.stringify(all)).not.toContain(value);
  });

  it.each<[what: string, given: object, message: string]>([
    ["nothing", { value: "" }, "has 0 bytes; 1 to 65536 can be kept"],
    ["65,537 bytes", { value: "x".repeat(65_537) }, "has 65537 bytes; 1 to 65536 can be kept"],
    [
      "65,537 bytes of base64",
      { value: Buffer.alloc(65_537).toString("base64"), encoding: "base64" },
      "65537",
    ],
    ["base64 that is none", { value: "a b", encoding: "base64" }, "is no base64 with padding"],
    ["half of a character", { value: "\ud800" }, "is no text"],
    ...[
      "attr.os.family=debian",
      "attr.os.family",
      "!attr.os.family",
      "not attr.os.family=debian",
      "env=prod and attr.os.family=debian",
      "env=prod or not (env=test and attr.os.family=debian)",
    ].map(
      (selector) =>
        [`a restriction to ${selector}`, { restriction: { selector } }, "attributes"] as [
          string,
          object,
          string,
        ],
    ),
    ["a restriction to nobody", { restriction: {} }, "names no agent"],
  ])("of %s is refused", async (_what, given, message) => {
    const error: unknown = await create(given).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "VALIDATION_FAILED" });
    expect(JSON.stringify((error as { issues: unknown }).issues)).toContain(message);
    await expect(secrets().get(systemCaller, { name: "db" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it.each([1, 2, 3, 65_536])("of %i bytes is kept and put in place", async (length) => {
    await create({ value: "é".repeat(length >> 1) + "x".repeat(length % 2) });
    await upload(fileWith("{{ secrets.db }}"));
    expect((await apply()).status).toBe("succeeded");
    expect(Buffer.byteLength(onMachine("conf"))).toBe(length);
  });

  it("is changed only as it was seen, and raises its version with each change", async () => {
    await create();
    await expect(
      secrets().update(systemCaller, { name: "db", description: "x" }, { ifVersion: [2] }),
    ).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
    const updated = await secrets().update(
      systemCaller,
      { name: "db", description: "x" },
      { ifVersion: [1] },
    );
    expect(updated).toMatchObject({ version: 2, value_version: 1, description: "x" });
    expect(await secrets().update(systemCaller, { name: "db", description: null })).not.toHaveProperty(
      "description",
    );
    await expect(create()).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
    await expect(secrets().update(systemCaller, { name: "db", encoding: "utf8" })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
  });

  it("is not removed while a module uses it, and its versions go on under its name", async () => {
    await create();
    await upload(fileWith("{{ secrets.db }}"));
    await expect(secrets().remove(systemCaller, { name: "db" })).rejects.toMatchObject({
      code: "IN_USE",
      details: { used_by: ["web"] },
    });
    await upload(fileWith("no secret"));
    await secrets().remove(systemCaller, { name: "db" });
    expect(await fleet.storage.count("secret_values")).toBe(0);
    expect(await create()).toMatchObject({ value_version: 2, version: 2 });
  });

  it("keeps its last five values, and no others", async () => {
    await create();
    for (let at = 2; at <= 9; at += 1)
      await secrets().update(systemCaller, { name: "db", value: `value number ${at}` });
    const { items } = await fleet.storage.list("secret_values");
    expect(items.map(({ key }) => key)).toEqual(["db@5", "db@6", "db@7", "db@8", "db@9"]);
  });

  it("is told of once before it expires, and once when it has", async () => {
    const day = 86_400_000;
    await create({ expires_at: new Date(fleet.clock.now() + 20 * day).toISOString() });
    const told = (): string[] =>
      fleet.events.map(({ event_type }) => event_type).filter((type) => type.startsWith("secret.expir"));
    await fleet.clock.advance(5 * day);
    expect(told()).toEqual([]);
    await fleet.clock.advance(2 * day);
    await expect.poll(told).toEqual(["secret.expiring"]);
    await fleet.clock.advance(20 * day);
    await expect.poll(told).toEqual(["secret.expiring", "secret.expired"]);
  });

  it("is resolved for the orchestrator itself, unless it is restricted, expired or not there", async () => {
    const service = servicesOf(fleet.orchestrator).secrets;
    await expect(service.resolveForServer("db")).rejects.toMatchObject({ code: "SECRET_UNAVAILABLE" });
    await create();
    expect(Buffer.from(await service.resolveForServer("db")).toString()).toBe(value);
    await secrets().update(systemCaller, { name: "db", restriction: { selector: "*" } });
    await expect(service.resolveForServer("db")).rejects.toMatchObject({ details: { reason: "restricted" } });
  });
});

it("answers that there is no key where none was given, and does all else", async () => {
  await using plain = await createTestOrchestrator();
  const { secrets: without } = plain.orchestrator;
  expect((await without.list(systemCaller)).items).toEqual([]);
  for (const call of [
    () => without.create(systemCaller, { name: "db", value }),
    () => without.rotateKey(systemCaller),
  ])
    await expect(call()).rejects.toMatchObject({ code: "SECRETS_KEY_MISSING" });
});
