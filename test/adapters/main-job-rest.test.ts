/** The main job, as a program does it that has nothing but HTTP: sign in, approve, upload, assign, plan, apply, look, restart. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FileStorage, nodeCrypto, Orchestrator, SocketTransport, toHex } from "fleetwright";
import type { OrchestratorEvent, Signer } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { createAgentSocket } from "../../adapters/h3/agent-socket.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { endOf } from "../support/end-of-operation.ts";
import { newFolders } from "../support/fleet.ts";
import type { Answer } from "../support/http.ts";
import { serve } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type Json = Record<string, unknown>;

const web = `name: web
resources:
  - { id: conf, type: directory, path: /etc/web, mode: "0750" }
  - { id: site, type: file, path: /etc/web/site.conf, mode: "0640", content: "listen 80\\n" }
  - { id: warm, type: script, run: "echo warmed", run_on: [site] }
`;
const broken = `name: web
resources:
  - { id: site, type: file, path: /etc/web/site.conf, colour: red }
  - { id: nothing, type: nonsense }
`;

/** An orchestrator on a folder, with agents and REST on one socket. */
async function start(folder: string, admin: Signer) {
  const transport = new SocketTransport();
  const orchestrator = new Orchestrator({
    storage: new FileStorage({ folder }),
    transport,
    adminPublicKeys: [toHex(admin.publicKey)],
  });
  const events: OrchestratorEvent[] = [];
  orchestrator.listen((event) => events.push(event));
  await orchestrator.start();
  const server = await serve(orchestrator, new Map([["/agent/v1", createAgentSocket(transport)]]));
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await server[Symbol.asyncDispose]();
    await orchestrator.stop();
  };
  onTestFinished(() => (stopped ??= stop()));
  let token: string | undefined;
  return {
    orchestrator,
    agentUrl: `${server.url.replace("http", "ws")}/agent/v1`,
    /** Sends a request with the token that `signIn` got, and checks what every answer has in common. */
    async rest(method: string, path: string, body?: Json): Promise<Answer & { json: Json }> {
      const answer = await server.rest(method, path, { token, body });
      expect(answer.headers["x-request-id"]).toMatch(/./);
      const media = answer.status === 204 ? undefined : answer.status < 400 ? "json" : "problem+json";
      expect(answer.headers["content-type"]).toBe(media && `application/${media}`);
      return answer as Answer & { json: Json };
    },
    /** Signs in by challenge, as a program with a key does. */
    async signIn(): Promise<void> {
      const public_key = toHex(admin.publicKey);
      const challenge = await this.rest("POST", "/auth/challenge", { public_key });
      expect(challenge.status).toBe(200);
      const { challenge_id, message } = challenge.json as { challenge_id: string; message: string };
      const signature = toHex(admin.sign(new TextEncoder().encode(message)));
      const session = await this.rest("POST", "/auth/verify", { challenge_id, signature });
      expect(session.json).toMatchObject({
        token: expect.stringMatching(/^fw_/),
        operator: { role: "Admin" },
      });
      token = session.json["token"] as string;
      const again = await this.rest("POST", "/auth/verify", { challenge_id, signature });
      expect(again.json).toMatchObject({ status: 401, code: "CHALLENGE_INVALID" });
    },
    /** Waits for an event, also one that has happened. */
    async heard(type: string): Promise<OrchestratorEvent> {
      for (;;) {
        const found = events.find((event) => event.event_type === type);
        if (found) return found;
        await new Promise<void>((resolve) => {
          const end = orchestrator.listen(() => {
            end();
            resolve();
          });
        });
      }
    },
    async stop(): Promise<void> {
      await (stopped ??= stop());
      expect(server.logger.of("error")).toEqual([]);
    },
  };
}

/** What must be the same after a restart. */
const kept = (nodeId: string, operationId: string, driftId: string): string[] => [
  "/operators",
  `/agents/${nodeId}/attributes`,
  "/tags",
  "/modules/web",
  "/assignments/web",
  "/state/operations",
  `/state/operations/${operationId}`,
  `/agents/${nodeId}/state`,
  `/agents/${nodeId}/state/operations/${operationId}/output`,
  `/agents/${nodeId}/drift`,
  `/drift/${driftId}`,
  "/audit/retention",
];

test("the main job works over REST with a real agent on a real socket, and a restart keeps all of it", async () => {
  const folder = temporaryFolder();
  const machine = newFolders();
  const site = join(machine.root, "etc/web/site.conf");
  const admin = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  const first = await start(folder, admin);
  const agent = createAgent({ ...machine, url: first.agentUrl });
  onTestFinished(() => agent.stop());

  expect((await first.rest("GET", "/agents")).json).toMatchObject({ status: 401, code: "UNAUTHENTICATED" });
  await first.signIn();
  await agent.start();
  await first.heard("agent.connected");
  const nodeId = agent.nodeId!;

  // Approve and tag
  const pending = await first.rest("GET", "/agents?status=pending");
  expect(pending.json).toMatchObject({ items: [{ node_id: nodeId, connected: true }], next_cursor: null });
  const early = await first.rest("POST", `/agents/${nodeId}/plan`, {});
  expect(early.json).toMatchObject({ status: 409, code: "AGENT_NOT_APPROVED" });
  const approved = await first.rest("POST", `/agents/${nodeId}`, { status: "approved", name: "web-1" });
  expect(approved.json).toMatchObject({ name: "web-1", status: "approved" });
  const twice = await first.rest("POST", `/agents/${nodeId}`, { status: "approved" });
  expect(twice.json).toMatchObject({ status: 409, code: "INVALID_TRANSITION" });
  expect((await first.rest("DELETE", `/agents/${nodeId}`)).status).toBe(409);
  const tagged = await first.rest("PUT", `/agents/${nodeId}/tags/role`, { value: "web" });
  expect([tagged.status, tagged.json]).toEqual([200, { tags: { role: "web" }, version: 3 }]);

  // Upload
  const faulty = await first.rest("POST", "/modules", { content: broken });
  expect(faulty.json).toMatchObject({ status: 400, code: "MODULE_INVALID" });
  const faults = faulty.json["errors"] as { line: number; column: number }[];
  expect(faults.map(({ line }) => line)).toEqual([3, 4]);
  expect(faults.every(({ column }) => column > 1)).toBe(true);
  const uploaded = await first.rest("POST", "/modules", { content: web });
  expect([uploaded.status, uploaded.headers.location]).toEqual([201, "/api/v1/modules/web"]);
  const same = await first.rest("POST", "/modules", { content: web });
  expect([same.status, same.headers.location]).toEqual([200, undefined]);
  expect(same.json).toMatchObject({ name: "web", revision: 1, created: false });

  // Assign
  const missing = { name: "web", selector: "role=web", modules: ["none"] };
  expect((await first.rest("POST", "/assignments", missing)).json).toMatchObject({ code: "NOT_FOUND" });
  const assignment = { ...missing, modules: ["web"] };
  const assigned = await first.rest("POST", "/assignments", assignment);
  expect([assigned.status, assigned.headers.location]).toEqual([201, "/api/v1/assignments/web"]);
  expect(assigned.json).toMatchObject({ matches: 1 });
  expect((await first.rest("POST", "/assignments", assignment)).json).toMatchObject({ status: 409 });
  const inUse = await first.rest("DELETE", "/modules/web");
  expect(inUse.json).toMatchObject({ status: 409, code: "IN_USE", details: { used_by: ["web"] } });

  // Plan and apply
  const noBaseline = await first.rest("POST", `/agents/${nodeId}/drift`, {});
  expect(noBaseline.json).toMatchObject({ status: 409, code: "NO_BASELINE" });
  const plan = await first.rest("POST", "/assignments/web/plan", {});
  expect(plan.status).toBe(200);
  expect(plan.json).toMatchObject({ kind: "plan", status: "succeeded", matched: 1 });
  expect(existsSync(site)).toBe(false);
  const started = await first.rest("POST", `/agents/${nodeId}/apply`, { wait_seconds: 0 });
  expect(started.status).toBe(202);
  const operationId = started.json["operation_id"] as string;
  expect(started.headers.location).toBe(`/api/v1/state/operations/${operationId}`);
  await endOf(servicesOf(first.orchestrator).operations, operationId, 30);
  const applied = await first.rest("GET", `/state/operations/${operationId}`);
  expect(applied.json).toMatchObject({
    kind: "apply",
    status: "succeeded",
    modules: [{ name: "web", revision: 1 }],
    counts: { total: 3, changed: 3 },
    resources: [{ resource_id: "conf" }, { resource_id: "site" }, { resource_id: "warm" }],
  });
  expect(readFileSync(site, "utf8")).toBe("listen 80\n");
  const output = await first.rest("GET", `/agents/${nodeId}/state/operations/${operationId}/output`);
  expect(output.json).toMatchObject({
    output: [{ resource_id: "warm", stream: "stdout", text: "warmed\n" }],
  });
  const rollout = await first.rest("POST", "/assignments/web/apply", {});
  expect(rollout.json).toMatchObject({ status: "succeeded", operations: [{ name: "web-1" }] });

  // Drift
  const inSync = await first.rest("POST", `/agents/${nodeId}/drift`, {});
  expect([inSync.status, inSync.json["status"]]).toEqual([200, "in_sync"]);
  writeFileSync(site, "listen 8080\n");
  const drifted = await first.rest("POST", `/agents/${nodeId}/drift`, {});
  expect(drifted.json).toMatchObject({ status: "drifted", counts: { would_change: 1 } });
  const latest = await first.rest("GET", `/agents/${nodeId}/drift/latest`);
  expect(latest.json).toEqual(drifted.json);

  // Audit
  const audit = await first.rest("GET", "/audit?limit=500");
  const items = audit.json["items"] as { event_type: string; sequence: number }[];
  const told = new Set(items.map((item) => item.event_type));
  expect([...told]).toEqual(
    expect.arrayContaining([
      "operator.signedIn",
      "agent.enrolled",
      "agent.approved",
      "agent.tagsChanged",
      "module.uploaded",
      "assignment.created",
      "rollout.started",
      "operation.finished",
      "drift.detected",
    ]),
  );
  expect(items.map(({ sequence }) => sequence)).toEqual(items.map((_, index) => items[0]!.sequence - index));
  expect((await first.rest("GET", "/audit/verify")).json).toMatchObject({ valid: true });

  // Restart
  const look = kept(nodeId, operationId, drifted.json["drift_id"] as string);
  const read = async (from: typeof first): Promise<Json[]> => {
    const answers = await Promise.all(look.map((path) => from.rest("GET", path)));
    expect(answers.map(({ status }) => status)).toEqual(look.map(() => 200));
    return answers.map(({ json }) => json);
  };
  const before = await read(first);
  await agent.stop();
  await first.stop();

  const second = await start(folder, admin);
  expect(second.orchestrator.publicKey).toEqual(first.orchestrator.publicKey);
  await second.signIn();
  const after = await read(second);
  // Signing in again is the only difference, which is one change of the operator.
  const unseen = (page: Json, changes: number): unknown =>
    (page["items"] as Json[]).map((operator) => ({
      ...operator,
      last_seen_at: "",
      version: (operator["version"] as number) + changes,
    }));
  expect(unseen(after[0]!, 0)).toEqual(unseen(before[0]!, 1));
  expect(after.slice(1)).toEqual(before.slice(1));
  const oldest = await second.rest("GET", `/audit?limit=500&to=${new Date().toISOString()}`);
  expect(oldest.json["items"]).toEqual(expect.arrayContaining(items));
  expect((await second.rest("GET", "/audit/verify")).json).toMatchObject({ valid: true });

  // The same agent, on the same keys, is known and repairs the machine
  const back = createAgent({ ...machine, url: second.agentUrl });
  onTestFinished(() => back.stop());
  await back.start();
  await second.heard("agent.connected");
  const repaired = await second.rest("POST", `/agents/${nodeId}/apply`, {});
  expect(repaired.json).toMatchObject({ status: "succeeded", counts: { changed: 2, unchanged: 1 } });
  expect(readFileSync(site, "utf8")).toBe("listen 80\n");
  expect((await second.rest("DELETE", "/auth/session")).status).toBe(204);
  expect((await second.rest("GET", "/agents")).status).toBe(401);
  await back.stop();
  await second.stop();
});
