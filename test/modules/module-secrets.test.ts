/** Secrets that stand in modules and assignments: who may write modules reads them, lists and all others do not. */
import { createHash } from "node:crypto";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent } from "../support/fleet.ts";
import { serve } from "../support/server.ts";

const content = `name: web
params:
  password: { type: string, sensitive: true, default: hunter-default }
  token: { type: string, default: hunter-token }
  port: { type: integer, default: 80 }
resources:
  - { id: key, type: file, path: /key, sensitive: true, content: "hunter-literal {{ params.token }}" }
  - { id: conf, type: file, path: /conf, content: "password {{ params.password }}" }
  - { id: print, type: script, creates: /made, run: "echo {{ params.password }}; touch made" }
  - { id: port, type: file, path: /port, content: "listen {{ params.port }}" }
`;

async function createFleet() {
  const test = await createTestOrchestrator();
  const [admin, operator, viewer] = [
    await test.signIn("Admin", "ada"),
    await test.signIn("Operator", "grace"),
    await test.signIn("Viewer", "joan"),
  ];
  const server = await serve(test.orchestrator);
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
  });
  return { test, admin, operator, viewer, server };
}

describe("a secret in a module", () => {
  it("is in no answer to a Viewer, and in no list, whatever became of the module", async () => {
    const { test, operator, viewer, admin, server } = await createFleet();
    await using agent = await startApprovedAgent(test);
    const write = async (method: string, path: string, body?: unknown) => {
      const { status, json } = await server.rest(method, path, { token: operator.token, body });
      expect(status, JSON.stringify(json)).toBeLessThan(300);
      return json as Record<string, string>;
    };
    await write("POST", "/modules", { content });
    const params = { password: "hunter-given", "web.token": "hunter-own", port: 81 };
    const assignment = { name: "web", selector: "*", modules: ["web"], params };
    await write("POST", "/assignments", assignment);
    await write("PUT", "/assignments/web", { params: { ...params, password: "hunter-changed" } });
    const plan = await write("POST", `/agents/${agent.nodeId}/plan`, { params: { password: "hunter-call" } });
    const apply = await write("POST", `/agents/${agent.nodeId}/apply`, {});
    expect(apply["status"], JSON.stringify(apply)).toBe("succeeded");
    const rollout = await write("POST", "/assignments/web/apply", {});
    await write("POST", "/modules", { content: content.replace("hunter-literal", "hunter-newer") });
    await write("POST", `/agents/${agent.nodeId}/drift`, {});
    const paths = [
      "/modules",
      "/modules/web",
      "/modules/web?revision=1",
      "/assignments",
      "/assignments/web",
      "/state/operations",
      `/state/operations/${plan["operation_id"]}`,
      `/state/operations/${apply["operation_id"]}`,
      `/state/operations/${apply["operation_id"]}/watch`,
      `/agents/${agent.nodeId}`,
      `/agents/${agent.nodeId}/state`,
      `/agents/${agent.nodeId}/state/operations`,
      `/agents/${agent.nodeId}/drift`,
      `/agents/${agent.nodeId}/drift/latest`,
      "/rollouts",
      `/rollouts/${rollout["rollout_id"]}`,
      `/rollouts/${rollout["rollout_id"]}/agents`,
      "/audit",
      "/restore",
    ];
    for (const path of paths) {
      const { status, text } = await server.rest("GET", path, { token: viewer.token });
      expect(status, path).toBe(200);
      expect(text, path).not.toContain("hunter");
    }
    for (const { token } of [operator, admin])
      for (const path of ["/modules", "/assignments", "/audit", "/state/operations", "/rollouts"])
        expect((await server.rest("GET", path, { token })).text, path).not.toContain("hunter");
    expect(JSON.stringify(test.events)).not.toContain("hunter");
    const output = `/agents/${agent.nodeId}/state/operations/${apply["operation_id"]}/output`;
    expect((await server.rest("GET", output, { token: operator.token })).text).not.toContain("hunter");
    // What it is for is there: the machine has it, and so have those who may write it.
    for (const { token } of [operator, admin]) {
      const module = await server.rest("GET", "/modules/web", { token });
      expect(module.json).toMatchObject({ content: content.replace("hunter-literal", "hunter-newer") });
      const own = await server.rest("GET", "/assignments/web", { token });
      expect(own.json).toMatchObject({ params: { ...params, password: "hunter-changed" } });
    }
    expect((await server.rest("GET", "/assignments", { token: viewer.token })).json).toMatchObject({
      items: [{ params: { password: "(sensitive)", "web.token": "(sensitive)", port: 81 } }],
    });
    expect(
      (await server.rest("GET", `/state/operations/${plan["operation_id"]}`, { token: viewer.token })).text,
    ).toContain("+listen 81");
  });

  it("can't be guessed by a hash or a size, nor by what is cached of an answer", async () => {
    const { test, operator, viewer, server } = await createFleet();
    const upload = (text: string) => test.orchestrator.modules.upload(systemCaller, { content: text });
    await upload(content);
    const seen = async (path: string, token: string, tag?: string) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(tag !== undefined && { "if-none-match": tag }),
      };
      return server.call({ method: "GET", path: `/api/v1${path}`, headers });
    };
    const [all, hidden] = [
      await seen("/modules/web", operator.token),
      await seen("/modules/web", viewer.token),
    ];
    const [allTag, hiddenTag] = [all, hidden].map(({ headers }) => String(headers["etag"]));
    expect(allTag).not.toBe(hiddenTag);
    expect((await seen("/modules/web", viewer.token, allTag)).status).toBe(200);
    expect((await seen("/modules/web", operator.token, hiddenTag)).status).toBe(200);
    expect((await seen("/modules/web", viewer.token, hiddenTag)).status).toBe(304);
    const facts = async (): Promise<Record<string, unknown>[]> => {
      const [listed] = (await test.orchestrator.modules.list(viewer.caller)).items;
      const detail = (await seen("/modules/web", viewer.token)).json as object;
      const [event] = (await test.orchestrator.audit.list(viewer.caller, { event_type: "module.uploaded" }))
        .items;
      return [listed!, detail, event!.metadata].map((each) => ({ ...each, revision: 0, uploaded_at: "" }));
    };
    const before = await facts();
    await upload(content.replace("hunter-literal", "another").replace("hunter-default", "x"));
    await test.clock.advance(1000);
    expect(await facts()).toEqual(before);
    const [listed] = (await test.orchestrator.modules.list(operator.caller)).items;
    expect(JSON.stringify(before)).not.toContain(listed!.content_hash);
    const sha256 = createHash("sha256").update(String(before[1]!["content"]));
    expect(before.map((each) => each["content_hash"])).toEqual(Array(3).fill(sha256.digest("hex")));
  });

  it("does not name a resource, and is not quoted where a value is refused", async () => {
    await using test = await createTestOrchestrator();
    const { modules, assignments } = test.orchestrator;
    const module = (resource: string) => `name: web
params:
  dir: { type: string, sensitive: true, enum: [hunter-a, hunter-b] }
resources:
  - { id: a, ${resource} }
`;
    await expect(
      modules.upload(systemCaller, { content: module('type: file, path: "/{{ params.dir }}", content: x') }),
    ).rejects.toMatchObject({
      code: "MODULE_INVALID",
      issues: [{ path: ["resources", 0, "path"], line: 5 }],
    });
    const fine = module('type: file, path: /a, content: "{{ params.dir }}"');
    await modules.upload(systemCaller, { content: fine });
    const refused = await assignments
      .create(systemCaller, { name: "web", selector: "*", modules: ["web"], params: { dir: "hunter-c" } })
      .catch((error: unknown) => error as { issues: unknown[] });
    expect(JSON.stringify(refused)).not.toContain("hunter");
    expect(refused).toMatchObject({ code: "VALIDATION_FAILED", issues: [{ path: ["params", "dir"] }] });
    // In a line, which goes by its id then, it may stand.
    await modules.upload(systemCaller, {
      content: module('type: line, path: /a, line: "x {{ params.dir }}"'),
    });
  });
});
