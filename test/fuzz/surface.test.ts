/**
 * Calls that are made up from the OpenAPI description, by callers of every role: each is answered as it is described, none by a
 * fault of the server, none does what the caller may not, and none holds the others up.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { permissionTable, roles, systemCaller, type Permission, type Role } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { cpuMs } from "../support/cpu-time.ts";
import { connectScriptedAgent, type ScriptedAgent } from "../support/scripted-agent.ts";
import { describedCodes, serve } from "../support/server.ts";
import { isSoak } from "../support/soak.ts";
import { Surface, type Description, type MadeUp } from "./support/surface.ts";

/** Calls of each operation. */
const calls = isSoak ? 2_000 : 12;
/** CPU milliseconds of a call, of both its sides. */
const mostMs = 1_500;

const moduleText = `name: web
params: { port: { type: integer, default: 80 } }
resources: [{ id: conf, type: file, path: /a, content: "port {{ params.port }}" }]
`;

/** Texts by field: what is there at first, which stays, and what answers told last. */
class Known {
  readonly #learnt = new Map<string, string[]>();
  readonly #texts = new Map<string, string[]>(
    Object.entries({
      content: [moduleText],
      selector: ["*", "role=web"],
      key: ["role"],
      value: ["web"],
      modules: ["web", "web@1"],
      module: ["web", "web@1"],
      remove_modules: ["web"],
      resources: ["web", "web/conf"],
      name: ["web", "all"],
      assignment: ["all"],
      username: ["ada"],
      public_key: ["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"],
    }),
  );

  of(field: string): readonly string[] {
    return [...(this.#texts.get(field) ?? []), ...(this.#learnt.get(field) ?? [])];
  }

  learn(answer: unknown): void {
    if (typeof answer !== "object" || answer === null) return;
    for (const [field, value] of Object.entries(answer)) {
      this.learn(value);
      if (typeof value !== "string" || value.length > 200 || !/_id$|cursor|^name$|^id$/.test(field)) continue;
      const texts = this.#learnt.get(field) ?? [];
      if (!this.of(field).includes(value)) this.#learnt.set(field, [...texts.slice(-7), value]);
    }
  }
}

async function refuseTerminals({ link, next }: ScriptedAgent): Promise<void> {
  for (;;) {
    const { id } = await next("terminal.open");
    link.send({ type: "reply", id, error: { code: "TERMINALS_REFUSED", message: "None here." } });
  }
}

async function tellAttributes({ link, next }: ScriptedAgent): Promise<void> {
  for (;;) {
    const { id } = await next("attributes.refresh");
    link.send({ type: "attributes", attributes: {}, collected_at: "2030-01-01T00:00:00.000Z" });
    link.send({ type: "reply", id });
  }
}

test(
  `${calls} calls of each operation are answered as the description tells`,
  { timeout: 60_000 + calls * 3_000 },
  async () => {
    await using product = await createTestOrchestrator({ secretsKey: new Uint8Array(32).fill(1) });
    await using server = await serve(product.orchestrator);
    await using agent = await connectScriptedAgent(product);
    await product.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
    // What calls name is there, so that a call is refused for what it says and not for what chance had not made yet.
    await product.orchestrator.modules.upload(systemCaller, { content: moduleText });
    const all = { name: "all", selector: "*", modules: ["web"] };
    await product.orchestrator.assignments.create(systemCaller, all);
    await product.orchestrator.secrets.create(systemCaller, { name: "web", value: "secret" });
    const asked = { selector: "*", command: "true", wait_seconds: 0 };
    const { rollout_id } = await product.orchestrator.runs.start(systemCaller, asked);
    void refuseTerminals(agent);
    void tellAttributes(agent);
    const known = new Known();
    known.learn({ node_id: agent.nodeId, rollout_id });
    const description = (await server.rest("GET", "/openapi.json")).json as Description;
    const surface = new Surface(description, (field) => known.of(field));
    const tokens = new Map<Role, string>();
    let signIns = 0;
    const tokenOf = async (role: Role | null): Promise<string | undefined> => {
      if (role === null) return undefined;
      const token = tokens.get(role) ?? (await product.signIn(role, `caller-${(signIns += 1)}`)).token;
      tokens.set(role, token);
      return token;
    };

    const counts: Record<string, number> = {};
    const done = new Set<string>();
    const faults: string[] = [];
    const arbitraries = new Map<string, fc.Arbitrary<MadeUp>>();
    const turn = async (
      operation: (typeof surface.operations)[number],
      role: Role | null,
      seed: number,
    ): Promise<void> => {
      const wild = seed % 3 === 0 ? 15 : 0;
      const made = arbitraries.get(operation[2].operationId + wild) ?? surface.callsOf(operation, wild);
      arbitraries.set(operation[2].operationId + wild, made);
      const [call] = fc.sample(made, { numRuns: 1, seed });
      const { procedure, method, path, headers, body } = call!;
      const token = await tokenOf(role);
      // Time stands still; who waits for some of it, for an agent's answer say, is given it.
      const passing = setInterval(() => void product.clock.advance(1_000), 200);
      const before = cpuMs();
      const {
        status,
        headers: sent,
        json,
      } = await server.call({
        method,
        path: `/api/v1${path}`,
        headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        ...(body !== undefined && { body }),
      });
      clearInterval(passing);
      const took = cpuMs() - before;
      counts[status] = (counts[status] ?? 0) + 1;
      if (status < 400) done.add(procedure);
      if (status === 401 && role !== null) tokens.delete(role);
      known.learn(json);
      const tell = (fault: string): void => {
        faults.push(
          `${role ?? "anonymous"} ${method} ${path.slice(0, 200)} ${JSON.stringify(headers)} ${body?.slice(0, 200)}: ${fault}`,
        );
      };
      const needed = permissionTable[procedure as Permission];
      const may = needed === "anyone" || (role !== null && roles.indexOf(role) >= roles.indexOf(needed));
      if (status >= 500) tell(`${status} ${JSON.stringify(json)}`);
      if (!may && ![401, 403, 404, 414].includes(status)) tell(`${status} for who may not`);
      if (took > mostMs) tell(`took ${took} ms`);
      const fault = surface.faultOf(operation[2], { status, type: sent["content-type"] ?? "", body: json });
      if (fault !== null) tell(fault);
      const code = String((json as { code?: string } | undefined)?.code);
      if (status >= 400 && !(describedCodes(method, path) ?? [code]).includes(code))
        tell(`${code} is not told of`);
    };

    let seed = isSoak ? Date.now() : 1;
    for (let round = 0; round < calls; round += 1)
      for (const operation of surface.operations)
        // Most as an Admin, who gets furthest; an Admin may remove what the others need, so that they come first.
        for (const role of round % 4 === 0
          ? [null, "Viewer" as const, "Operator" as const]
          : ["Admin" as const])
          await turn(operation, role, (seed += 1));

    console.log(`Surface: ${JSON.stringify({ ...counts, done: done.size, of: surface.operations.length })}`);
    expect(faults).toEqual([]);
    expect(product.loggedErrors).toEqual([]);
    expect(await product.orchestrator.audit.verify(systemCaller)).toMatchObject({ valid: true });
    const reached = surface.operations.filter(([, , { operationId }]) =>
      done.has(operationId.replace("-", ".")),
    );
    expect(reached.length).toBeGreaterThan(surface.operations.length * 0.6);
  },
);
