/** Every procedure with every kind of caller, as a call within the process, over tRPC and over REST: one answer from all. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { TRPCError, type AnyProcedure } from "@trpc/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isOrchestratorError, nodeCrypto, permissionTable, roles, toHex } from "fleetwright";
import type { Caller, Orchestrator, Permission, Role } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { inputFields, inputSchema } from "../../adapters/rest/parameters.ts";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { settle } from "../support/deferred.ts";
import { serve, type TestServer } from "../support/server.ts";

const procedures = Object.entries(appRouter._def.procedures as Record<string, unknown>) as [
  Permission,
  AnyProcedure,
][];
type CallerKind = "nobody" | "garbage" | "expired" | Role;
const callerKinds: CallerKind[] = ["nobody", "garbage", "expired", ...roles];
/** What a call came to: the refusal, or "allowed" for everything else, be it a success or another error. */
type Verdict = "UNAUTHENTICATED" | "FORBIDDEN" | "allowed";
type Verb = (caller: Caller, input: unknown) => Promise<unknown>;

let served: TestOrchestrator;
let server: TestServer;
let expired: string;
let count = 0;

beforeAll(async () => {
  served = await createTestOrchestrator();
  server = await serve(served.orchestrator);
  expired = (await served.signIn("Admin", "expired")).token;
  await served.clock.advance(13 * 3_600_000);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

/** A token of its own for each call: some calls end the session they are made with. */
async function tokenOf(kind: CallerKind): Promise<string | null> {
  if (kind === "nobody") return null;
  if (kind === "garbage") return `fw_${"x".repeat(43)}`;
  if (kind === "expired") return expired;
  count += 1;
  return (await served.signIn(kind, `caller-${count}`)).token;
}

const signingIn: ReadonlySet<Permission> = new Set(["auth.challenge", "auth.verify"]);

function expectedVerdict(permission: Permission, kind: CallerKind): Verdict {
  const needed = permissionTable[permission];
  // Signing in needs no token: an old one is not looked at.
  if (signingIn.has(permission)) return "allowed";
  if (kind === "garbage" || kind === "expired") return "UNAUTHENTICATED";
  if (needed === "anyone") return "allowed";
  if (kind === "nobody") return "UNAUTHENTICATED";
  return roles.indexOf(kind) >= roles.indexOf(needed) ? "allowed" : "FORBIDDEN";
}

/** A valid value for each field that an input must have. Nothing with these ids is there. */
const examples: Record<string, unknown> = {
  node_id: "0".repeat(32),
  operator_id: "0".repeat(32),
  operation_id: randomUUID(),
  drift_id: randomUUID(),
  session_id: randomUUID(),
  rollout_id: randomUUID(),
  id: randomUUID(),
  delivery_id: randomUUID(),
  type: "webhook",
  config: { url: "https://hooks.example.com" },
  name: "nothing",
  key: "env",
  value: "test",
  tags: { env: "test" },
  status: "approved",
  role: "Viewer",
  username: "somebody",
  public_key: toHex(nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey).publicKey),
  challenge_id: "no-such-challenge",
  signature: "0".repeat(128),
  content: "name: nothing\nresources: []\n",
  selector: "*",
  modules: ["nothing"],
  resources: ["nothing"],
  before: "2020-01-01T00:00:00.000Z",
  retention_days: 90,
};

/** Of procedures of whose optional fields some are needed together. */
const leastInputs: Partial<Record<string, Record<string, unknown>>> = {
  "maintenanceWindows.create": { reason: "x", mode: "mute", ends_at: "2100-01-01T00:00:00Z" },
  "thresholds.create": { name: "nothing", metric: "cpu.percent", condition: "above", value: 90 },
  "agents.setStatuses": { status: "rejected", node_ids: ["0".repeat(32)] },
  "agents.setNames": { names: [{ node_id: "0".repeat(32), name: "x" }] },
  "agents.replace": { node_id: "0".repeat(32), by: "1".repeat(32) },
  "tags.change": { node_ids: ["0".repeat(32)], set: { a: "b" } },
  "runs.start": { node_ids: ["0".repeat(32)], command: "true" },
};

/** The smallest valid input of a procedure; undefined where it takes none. */
function inputOf(path: string, procedure: AnyProcedure): Record<string, unknown> | undefined {
  const least = leastInputs[path];
  if (least) return least;
  if (inputSchema(procedure) === undefined) return undefined;
  const needed = [...inputFields(procedure)].filter(([, field]) => !(field as Optional).isOptional());
  return Object.fromEntries(
    needed.map(([name]) => {
      if (!(name in examples)) throw new Error(`The test needs an example of the field ${name}.`);
      return [name, examples[name]];
    }),
  );
}
interface Optional {
  isOptional(): boolean;
}

async function verdictOf(call: () => Promise<unknown>): Promise<Verdict> {
  try {
    await call();
  } catch (thrown) {
    const error = thrown instanceof TRPCError ? thrown.cause : thrown;
    if (!isOrchestratorError(error)) throw thrown;
    if (error.code === "UNAUTHENTICATED" || error.code === "FORBIDDEN") return error.code;
    expect(error.code).not.toBe("VALIDATION_FAILED");
  }
  return "allowed";
}

/** The method of `lib` behind a procedure, where its name does not say it. */
const featureOf: Record<string, (orchestrator: Orchestrator) => object> = {
  auth: ({ access }) => access,
  tags: ({ agents }) => agents.tags,
  state: ({ operations }) => operations,
  "assignments.applyNow": ({ rollouts }) => rollouts,
  "assignments.plan": ({ rollouts }) => rollouts,
};

async function callLib(path: Permission, input: unknown, token: string | null): Promise<unknown> {
  const { orchestrator } = served;
  const [area = "", name = ""] = path.split(".");
  const verb = name === "applyNow" ? "apply" : name;
  const find = featureOf[path] ?? featureOf[area];
  const feature = find ? find(orchestrator) : orchestrator[area as keyof Orchestrator];
  const verbs = feature as unknown as Record<string, Verb>;
  expect(verbs[verb], `lib has no ${path}`).toBeTypeOf("function");
  return begin(
    verbs[verb]!(await orchestrator.access.authenticate(signingIn.has(path) ? null : token), input),
  );
}

/** Over HTTP, but for streams: those of events are begun, and those of bytes only called, within the process. */
async function callTrpc(path: Permission, procedure: AnyProcedure, token: string | null): Promise<Verdict> {
  const input = inputOf(path, procedure);
  const { type, meta } = procedure._def;
  const isStream = type === "subscription" || (meta as ProcedureMeta).rest?.produces !== undefined;
  if (isStream) return verdictOf(() => callRouter(path, input, token));
  const text = input === undefined ? undefined : JSON.stringify(input);
  const query = type === "query" && text !== undefined ? `?input=${encodeURIComponent(text)}` : "";
  const answer = await server.call({
    path: `/trpc/${path}${query}`,
    headers: {
      "content-type": "application/json",
      ...(token !== null && { authorization: `Bearer ${token}` }),
    },
    ...(type === "mutation" && { method: "POST", body: text ?? "" }),
  });
  const { error } = answer.json as { error?: { data: { problem: { code: string; status: number } } } };
  if (error === undefined) {
    expect(answer.status).toBe(200);
    return "allowed";
  }
  const { code, status } = error.data.problem;
  expect([code, answer.status]).not.toEqual(["VALIDATION_FAILED", 400]);
  expect(answer.status).toBe(status);
  expect(status).toBeLessThan(500);
  return code === "UNAUTHENTICATED" || code === "FORBIDDEN" ? code : "allowed";
}

async function callRouter(path: Permission, input: unknown, token: string | null): Promise<unknown> {
  const info = { request_id: "matrix", source_address: null, if_match: null };
  const authorization = token === null ? undefined : `Bearer ${token}`;
  const caller = appRouter.createCaller(
    createContextFactory<Caller, Orchestrator>(served.orchestrator)(info, authorization),
  );
  const [area = "", verb = ""] = path.split(".");
  const verbs = caller as unknown as Record<string, Record<string, (input: unknown) => Promise<unknown>>>;
  return begin(verbs[area]![verb]!(input));
}

/** Of a stream only the beginning: whoever may not read it gets no first item. */
async function begin(call: Promise<unknown>): Promise<unknown> {
  const result = await call;
  const isStream = typeof result === "object" && result !== null && Symbol.asyncIterator in result;
  // The pieces of a backup are no stream that is refused by itself.
  if (!isStream || !("return" in result)) return result;
  const items = result as AsyncGenerator<unknown>;
  const first = await items.next();
  await items.return(undefined);
  return first.value;
}

async function callRest(name: string, procedure: AnyProcedure, token: string | null): Promise<Verdict> {
  const { method, path } = (procedure._def.meta as ProcedureMeta).openapi!;
  const rest = { ...inputOf(name, procedure) };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = encodeURIComponent(String(rest[field]));
    delete rest[field];
    return value;
  });
  const takesBody = method === "POST" || method === "PUT" || method === "PATCH";
  const query = takesBody ? "" : `?${new URLSearchParams(rest as Record<string, string>)}`;
  if (procedure._def.type === "subscription") {
    return beginRest(`${server.url}/api/v1${filled}${query}`, token);
  }
  const answer = await server.rest(method, filled + query, {
    token: token ?? undefined,
    ...(takesBody && { body: rest }),
  });
  const code = (answer.json as { code?: string } | undefined)?.code;
  expect(code).not.toBe("VALIDATION_FAILED");
  if (code === "UNAUTHENTICATED" || code === "FORBIDDEN") {
    expect(answer.status).toBe(code === "UNAUTHENTICATED" ? 401 : 403);
    return code;
  }
  expect(answer.status).not.toBe(403);
  expect(answer.status).toBeLessThan(500);
  return "allowed";
}

/** Asks for a stream, and goes away when it begins. */
async function beginRest(url: string, token: string | null): Promise<Verdict> {
  const headers = { ...(token !== null && { authorization: `Bearer ${token}` }) };
  const request = get(url, { headers, agent: false });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const [piece] = (await once(response, "data")) as [Buffer];
  request.destroy();
  await once(request, "close");
  if (response.statusCode === 200) return "allowed";
  const { code } = JSON.parse(piece.toString()) as { code: string };
  return code === "UNAUTHENTICATED" || code === "FORBIDDEN" ? code : "allowed";
}

test("every procedure has a permission, and every permission a procedure", () => {
  const cells = procedures.length * callerKinds.length;
  console.log(
    `access matrix: ${procedures.length} procedures x ${callerKinds.length} callers x 3 ways = ${cells * 3} calls`,
  );
  expect(procedures.map(([path]) => path).sort()).toEqual(Object.keys(permissionTable).sort());
});

/** Verbs that take their time, whatever they are asked. */
const takingTime: ReadonlySet<string> = new Set(["discovery.broadcast"]);

const atOnce = (call: () => Promise<Verdict>): Promise<Verdict> => call();

/** Makes a call while the time of the orchestrator passes. */
async function overTime(call: () => Promise<Verdict>): Promise<Verdict> {
  let isAnswered = false;
  const answer = call().finally(() => (isAnswered = true));
  answer.catch(() => {});
  while (!isAnswered) {
    await settle();
    await served.clock.advance(100);
  }
  return answer;
}

describe.each(procedures)("%s", (path, procedure) => {
  test.each(callerKinds)("called by %s", async (kind) => {
    const input = inputOf(path, procedure);
    const lib = await tokenOf(kind);
    const trpc = await tokenOf(kind);
    const rest = await tokenOf(kind);
    const inTime = takingTime.has(path) ? overTime : atOnce;
    const verdicts = {
      lib: await inTime(() => verdictOf(() => callLib(path, input, lib))),
      trpc: await inTime(() => callTrpc(path, procedure, trpc)),
      rest: await inTime(() => callRest(path, procedure, rest)),
    };
    const expected = expectedVerdict(path, kind);
    expect(verdicts).toEqual({ lib: expected, trpc: expected, rest: expected });
  });
});

test("a refusal for want of a right is in the audit log, with who, what and from where", async () => {
  const { token, operator_id } = await served.signIn("Viewer", "curious");
  await server.rest("DELETE", "/audit?before=2020-01-01T00:00:00Z", { token });
  const denied = served.events.findLast((event) => event.event_type === "access.denied");
  expect(denied).toMatchObject({
    actor: { id: operator_id, name: "curious" },
    metadata: { permission: "audit.prune", needed: "Admin" },
    source_address: "127.0.0.1",
  });
});
