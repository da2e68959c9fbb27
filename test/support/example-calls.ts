/** The calls that the examples of the OpenAPI description are recorded from: one of each procedure, in an order in which all succeed. */
import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { MemoryStorage, nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import { createTestOrchestrator, MemoryNetwork, type TestOrchestrator } from "fleetwright/testing";
import type { OperationExample } from "../../adapters/rest/openapi/examples.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { settle } from "./deferred.ts";
import { undescribedHeaders } from "./described-headers.ts";
import { startListener } from "./discovery.ts";
import { playNotifications, playThresholds, playWindows } from "./example-notifications.ts";
import { eventOf, newFolders } from "./fleet.ts";
import { firstItem, type Answer } from "./http.ts";
import type { Moment } from "./interrupted-call.ts";
import { eventually } from "./processes.ts";
import { RecordedMachine } from "./recorded-machine.ts";
import { connectScriptedAgent } from "./scripted-agent.ts";
import { MemorySecretsKey } from "./secrets-key.ts";
import { serve, type TestServer } from "./server.ts";

type Json = Record<string, unknown>;
/** A call that was made, with the answer as it came. */
export type RecordedCall = [procedure: string, example: OperationExample];

const web = `name: web
description: The web server's configuration
resources:
  - { id: conf, type: directory, path: /etc/web, mode: "0750" }
  - { id: site, type: file, path: /etc/web/site.conf, content: "listen 80\\n" }
  - { id: warm, type: script, run: "echo warmed", run_on: [site] }
`;

/** Told of each call that succeeded, and what the audit log got by it, with the id of its request. */
export type CallObserver = (
  procedure: string,
  audited: { event_type: string; request_id?: string }[],
) => void;

/** Told of each call before it is made, with all that it will meet. */
export type MomentObserver = (moment: Moment) => Promise<void>;

/** Plays all calls against a server of their own. */
export async function playExampleCalls(
  observe: CallObserver = () => {},
  storage: MemoryStorage = new MemoryStorage(),
  before?: MomentObserver,
): Promise<RecordedCall[]> {
  const network = new MemoryNetwork();
  const datagrams = network.machine("192.0.2.1");
  const secretsKey = new MemorySecretsKey();
  await using product = await createTestOrchestrator({
    datagrams,
    secretsKey,
    channelNetworks: ["127.0.0.1"],
    storage,
  });
  await using server = await serve(product.orchestrator);
  const session = new ExampleSession(product, server, observe);
  const folders = newFolders();
  session.before = (call) => before?.({ ...call, storage, secretsKey, machine: folders });
  await playAccess(session);
  await playDiscovery(session, { product, network });
  await using agent = createAgent({
    ...folders,
    dial: () => Promise.resolve(product.transport.connect()),
    clock: product.clock,
    measured: new RecordedMachine(),
  });
  await agent.start();
  await eventOf(product, "agent.connected", agent.nodeId!);
  await playAgents(session, agent.nodeId!);
  await playState(session, agent.nodeId!);
  await using silent = await connectScriptedAgent(product, undefined, product.clock);
  await playOpenWork(session, silent.nodeId);
  await playEnd(session);
  if (product.loggedErrors.length > 0) throw new Error(JSON.stringify(product.loggedErrors));
  return [...session.calls, ...(await playRestore(observe, before))];
}

/** Plays what is asked of a server that was restored. */
async function playRestore(observe: CallObserver, toldBefore?: MomentObserver): Promise<RecordedCall[]> {
  await using before = await createTestOrchestrator();
  const data = (before.storage as MemoryStorage).restoredCopy();
  const storage = new MemoryStorage({ clock: before.clock, data });
  const secretsKey = new MemorySecretsKey();
  await using product = await createTestOrchestrator({ storage, secretsKey });
  await using server = await serve(product.orchestrator);
  const session = new ExampleSession(product, server, observe);
  session.before = (call) => toldBefore?.({ ...call, storage, secretsKey, machine: null });
  await session.signIn();
  await session.call("restores.get");
  await session.call("restores.resume");
  return session.calls.filter(([procedure]) => procedure.startsWith("restores."));
}

async function playAccess(session: ExampleSession): Promise<void> {
  await session.call("status.get");
  await session.signIn();
  await session.call("auth.session");
  const added = { username: "ada", public_key: newKey(), role: "Operator" };
  const { operator_id } = await session.call("operators.add", {}, added);
  await session.call("operators.list", { limit: 10 });
  await session.call("operators.get", { operator_id });
  await session.call("operators.setRole", { operator_id }, { role: "Viewer" });
  await session.call("operators.remove", { operator_id });
}

async function playDiscovery(
  session: ExampleSession,
  { product, network }: { product: TestOrchestrator; network: MemoryNetwork },
): Promise<void> {
  const { clock } = product;
  const listener = await startListener(network.machine("192.0.2.7"), { clock });
  const before = clock.pendingTimers;
  const call = session.call("discovery.broadcast", {}, { timeout_ms: 1_000 });
  // That of the call, and that of the answer.
  while (clock.pendingTimers < before + 2) await settle();
  await clock.advance(1_000);
  await call;
  listener.stop();
}

async function playAgents(session: ExampleSession, node_id: string): Promise<void> {
  await session.call("agents.setStatus", { node_id }, { status: "approved", name: "web-1" });
  const tokens = { name: "web", uses: 50, expires_in_seconds: 86_400, tags: { role: "web" } };
  const { id } = await session.call("enrolmentTokens.create", {}, tokens);
  await session.call("enrolmentTokens.list", { limit: 10 });
  await session.call("enrolmentTokens.get", { id });
  await session.call("enrolmentTokens.revoke", { id });
  await session.call("agents.rejectPending", {}, { network: "203.0.113.0/24", connected: false });
  await session.call("tags.replace", { node_id }, { tags: { role: "web", env: "test" } });
  await session.call("tags.set", { node_id, key: "env" }, { value: "prod" });
  await session.call("tags.change", {}, { selector: "role=web", set: { rack: "7" }, remove: ["old"] });
  await session.call("agents.rename", { node_id }, { name: "web-01" });
  await session.call("agents.setNames", {}, { names: [{ node_id, name: "web-1" }] });
  await session.call("tags.list");
  await session.call("agents.list", { status: "approved", selector: "role=web", limit: 10 });
  await session.call("agents.get", { node_id });
  await session.call("agents.attributes", { node_id });
  await session.call("agents.refreshAttributes", { node_id }, { wait_seconds: 10 });
  await session.call("metrics.latest", { node_id });
  await session.call("metrics.history", { node_id, series: ["cpu.percent", "load.1"], step_seconds: 60 });
  await session.call("metrics.prometheus", { selector: "role=web" });
  await playThresholds(session);
  await session.call("modules.upload", {}, { content: web });
  await session.call("modules.list");
  await session.call("modules.get", { name: "web", revision: 1 });
  const assignment = { name: "web", selector: "role=web", modules: ["web"] };
  await session.call("assignments.create", {}, assignment);
  await session.call("assignments.update", { name: "web" }, { description: "Everything that serves pages" });
  await session.call("assignments.list");
  await session.call("assignments.get", { name: "web" });
}

async function playState(session: ExampleSession, node_id: string): Promise<void> {
  await session.call("state.plan", { node_id }, { wait_seconds: 30 });
  const { operation_id } = await session.call("state.applyNow", { node_id }, { wait_seconds: 30 });
  await session.call("state.believed", { node_id });
  await session.call("operations.get", { operation_id });
  await session.call("operations.list", { kind: "apply", status: "succeeded" });
  await session.call("operations.listForAgent", { node_id, limit: 1 });
  await session.call("operations.output", { node_id, operation_id });
  await session.watch("operations.watch", { operation_id });
  const { rollout_id } = await session.call("assignments.plan", { name: "web" }, { wait_seconds: 30 });
  await session.call("rollouts.changes", { rollout_id });
  await session.call(
    "assignments.applyNow",
    { name: "web" },
    { wait_seconds: 30, plan_rollout_id: rollout_id },
  );
  await playRuns(session);
  const { drift_id } = await session.call("drift.check", { node_id }, { wait_seconds: 30 });
  await session.call("drift.newest", { status: "in_sync" });
  await session.call("summary.get");
  await session.call("drift.list", { node_id });
  await session.call("drift.latest", { node_id });
  await session.call("drift.get", { drift_id });
  await session.call("state.forget", { node_id }, { resources: ["web/warm"] });
  await session.watch("events.stream", { types: ["agent.*"] });
  await playTerminal(session, node_id);
  await playSecrets(session, node_id);
  const calling = {
    product: session.product,
    call: (procedure: string, parameters?: Json, body?: Json) => session.call(procedure, parameters, body),
  };
  await playWindows(calling);
  await playNotifications(calling);
}

async function playSecrets(session: ExampleSession, node_id: string): Promise<void> {
  const restriction = { selector: "role=web", node_ids: [node_id] };
  const secret = { name: "db-password", value: "correct horse battery staple" };
  const description = "Of the web site's own account";
  await session.call("secrets.create", {}, { ...secret, description, restriction });
  const expires_at = "2031-01-01T00:00:00.000Z";
  await session.call(
    "secrets.update",
    { name: "db-password" },
    { value: "aG9yc2U=", encoding: "base64", expires_at },
  );
  await session.call("secrets.list", { limit: 10 });
  await session.call("secrets.get", { name: "db-password" });
  await session.call("secrets.rotateKey");
  await session.call("secrets.remove", { name: "db-password" });
}

async function playRuns(session: ExampleSession): Promise<void> {
  const run = { selector: "role=web", command: ["uname", "-s"], timeout_seconds: 60, wait_seconds: 30 };
  const { rollout_id } = await session.call("runs.start", {}, run);
  await session.call("runs.get", { rollout_id });
  const { runs } = session.product.orchestrator;
  const waiting = await runs.start(systemCaller, { selector: "*", command: "sleep 60", wait_seconds: 0 });
  await session.call("runs.cancel", { rollout_id: waiting.rollout_id });
  await eventOf(session.product, "rollout.finished", waiting.rollout_id);
}

async function playTerminal(session: ExampleSession, node_id: string): Promise<void> {
  const opening = { cols: 120, rows: 40, shell: "/bin/sh", reason: "The disk is full" };
  const { session_id } = await session.call("terminals.open", { node_id }, opening);
  await session.call("terminals.ticket", { session_id });
  // The prompt is recorded in its own time.
  const { terminals } = session.product.orchestrator;
  await eventually("the prompt is recorded", async () => {
    const { bytes } = await terminals.get(systemCaller, { session_id: session_id as string });
    return bytes > 0;
  });
  await session.call("terminals.get", { session_id });
  await session.call("terminals.list", { status: "active", limit: 10 });
  await session.call("terminals.close", { session_id });
  await eventOf(session.product, "terminal.closed", session_id as string);
  await session.call("terminals.transcript", { session_id, format: "text", search: "disk" });
}

/** What can only be done while work is open, with an agent that never answers. */
async function playOpenWork(session: ExampleSession, node_id: string): Promise<void> {
  const { orchestrator } = session.product;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name: "db-1" });
  await orchestrator.agents.tags.replace(systemCaller, { node_id, tags: { role: "db" } });
  const assignment = { name: "db", selector: "role=db", modules: ["web"] };
  await orchestrator.assignments.create(systemCaller, assignment);
  const { rollout_id } = await orchestrator.rollouts.apply(systemCaller, { name: "db", wait_seconds: 0 });
  await session.call("rollouts.pause", { rollout_id });
  await session.call("rollouts.resume", { rollout_id });
  await session.call("rollouts.list", { assignment: "web" });
  await session.call("rollouts.get", { rollout_id });
  await session.call("rollouts.agents", { rollout_id });
  await session.call("rollouts.cancel", { rollout_id });
  const run = { node_id, wait_seconds: 0 };
  const { operation_id } = await orchestrator.operations.apply(systemCaller, run);
  await session.call("operations.cancel", { operation_id });
  await session.call("tags.remove", { node_id, key: "role" });
  await playReplacement(session, node_id);
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await session.call("agents.remove", { node_id });
}

/** A machine goes, and an agent takes its place. */
async function playReplacement(session: ExampleSession, by: string): Promise<void> {
  const { product } = session;
  const gone = await connectScriptedAgent(product, undefined, product.clock);
  const node_id = gone.nodeId;
  await session.call("agents.setStatuses", {}, { status: "approved", node_ids: [node_id] });
  await gone.link.stop();
  await eventOf(product, "agent.disconnected", node_id);
  await session.call("agents.replace", { node_id }, { by });
}

async function playEnd(session: ExampleSession): Promise<void> {
  await session.call("audit.list", { category: "module", limit: 1 });
  await session.call("audit.verify");
  await session.call("audit.head");
  await session.call("audit.setRetention", {}, { retention_days: 365 });
  await session.call("audit.getRetention");
  await session.call("audit.prune", { before: "2029-01-01T00:00:00.000Z" });
  await session.call("assignments.remove", { name: "web" });
  // Nothing uses it: what the rollout above was about stays while an operation of it is open.
  const content = "name: old\nresources: []\n";
  await session.product.orchestrator.modules.upload(systemCaller, { content });
  await session.call("modules.remove", { name: "old" });
  await session.call("auth.signOut");
}

type CallToMake = Pick<Moment, "procedure" | "method" | "path" | "token" | "body" | "nowMs">;

const routes = new Map(
  restProcedures(appRouter).map(([name, { _def }]) => [name, (_def.meta as ProcedureMeta).openapi!]),
);

/** Makes calls as an Admin and writes them down. */
export class ExampleSession {
  readonly calls: RecordedCall[] = [];
  /** Called before each call with all of the moment but what the session does not know. */
  before: (call: CallToMake) => Promise<void> | undefined = () => undefined;
  readonly product: TestOrchestrator;
  readonly #server: TestServer;
  readonly #observe: CallObserver;
  #token: string | undefined;

  constructor(product: TestOrchestrator, server: TestServer, observe: CallObserver) {
    this.product = product;
    this.#server = server;
    this.#observe = observe;
  }

  async signIn(): Promise<void> {
    const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
    const public_key = toHex(signer.publicKey);
    await this.product.orchestrator.operators.add(systemCaller, {
      username: "grace",
      public_key,
      role: "Admin",
    });
    const { challenge_id, message } = await this.call("auth.challenge", {}, { public_key });
    const signature = toHex(signer.sign(new TextEncoder().encode(message as string)));
    const { token } = await this.call("auth.verify", {}, { challenge_id, signature });
    this.#token = token as string;
  }

  /** Makes a call that must succeed; returns what it answered. */
  async call(procedure: string, parameters: Json = {}, body?: Json): Promise<Json> {
    const { method, path } = this.#target(procedure, parameters);
    const nowMs = this.product.clock.now();
    await this.before({ procedure, method, path, token: this.#token, body, nowMs });
    const { storage } = this.product;
    const { head } = await storage.readLog("audit", { limit: 1 });
    const answer = await this.#server.rest(method, path, { token: this.#token, body });
    const { status, json, text } = answer;
    if (status >= 300) throw new Error(`${procedure} was refused: ${text}`);
    const { entries } = await storage.readLog("audit", { from: head.sequence + 1, limit: 1000 });
    this.#observe(
      procedure,
      entries.map(({ value }) => value as { event_type: string; request_id?: string }),
    );
    await this.#follow(procedure, answer);
    this.#write(procedure, { parameters, body, status, answer: json });
    await this.product.clock.advance(1000);
    return (json ?? {}) as Json;
  }

  /** Where an answer says where to find what was made, that is there. */
  async #follow(procedure: string, { headers: { location }, json }: Answer): Promise<void> {
    if (location === undefined) return;
    const { status, json: found } = await this.#server.rest("GET", location.slice("/api/v1".length), {
      token: this.#token,
    });
    const id = decodeURIComponent(location.split("/").at(-1)!);
    const [made, there] = [json, found].map((each) => Object.values(each as Json).includes(id));
    if (status !== 200 || id === "" || !made || !there)
      throw new Error(`${procedure} led to ${location}, where there is: ${JSON.stringify(found)}`);
  }

  /** Reads the first item of a stream. */
  async watch(procedure: string, parameters: Json): Promise<void> {
    const { path } = this.#target(procedure, parameters);
    const request = get(`${this.#server.url}/api/v1${path}`, {
      headers: { authorization: `Bearer ${this.#token}` },
      agent: false,
    });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const data = await firstItem(response);
    request.destroy();
    await once(request, "close");
    const { statusCode: status = 0, headers } = response;
    const more = undescribedHeaders({ method: "GET", path, status, headers });
    if (more.length > 0) throw new Error(`${procedure} answers with headers that are not described: ${more}`);
    this.#write(procedure, { parameters, status, answer: JSON.parse(data) });
  }

  #target(procedure: string, parameters: Json): { method: string; path: string } {
    const { method, path } = routes.get(procedure)!;
    const inQuery = new URLSearchParams();
    for (const [name, value] of Object.entries(parameters)) {
      if (!path.includes(`{${name}}`)) for (const each of [value].flat()) inQuery.append(name, String(each));
    }
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(parameters[name])),
    );
    return { method, path: inQuery.size === 0 ? filled : `${filled}?${inQuery}` };
  }

  #write(procedure: string, { parameters = {}, body, status, answer }: OperationExample): void {
    const example: OperationExample = {
      ...(Object.keys(parameters).length > 0 && { parameters }),
      ...(body !== undefined && { body }),
      status,
      ...(answer !== undefined && { answer }),
    };
    this.calls.push([procedure, example]);
  }
}

function newKey(): string {
  return toHex(nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey).publicKey);
}
