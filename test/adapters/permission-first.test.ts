/**
 * Who may not call a procedure is told so whatever the call looks like, and an operator has it in the audit log, once.
 *
 * A refusal used to come after the input was read: a wrong body of a Viewer to a row of Admins was a 400 that nobody recorded, and a
 * large one cost the server seconds.
 */
import type { AnyProcedure } from "@trpc/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { permissionTable, roles } from "fleetwright";
import type { Caller, Orchestrator, Permission, Role } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import type { Answer } from "../support/http.ts";
import { serve, type TestServer } from "../support/server.ts";

type Protected = [permission: Permission, procedure: AnyProcedure, needed: Role];
const procedures = Object.entries(appRouter._def.procedures as Record<string, unknown>).flatMap(
  ([name, procedure]): Protected[] => {
    const needed = permissionTable[name as Permission];
    return needed === "anyone" ? [] : [[name as Permission, procedure as AnyProcedure, needed]];
  },
);

const json = { "content-type": "application/json" };
/** What is sent. What begins a type or a length that tRPC refuses before it looks for a procedure is not sent there. */
type Bad = [what: string, body: string, headers: Record<string, string>];
const badBodies: Bad[] = [
  ["no JSON", "{", json],
  ["a list", "[1]", json],
  ["a field that nobody knows", '{"nonsense":1}', json],
  ["no JSON by its type", "a=b", { "content-type": "application/x-www-form-urlencoded" }],
  ["more than is read", `"${"x".repeat(1_200_000)}"`, json],
  ["a condition that is none", "{}", { ...json, "if-match": "nonsense" }],
  ["a key that is none", "{}", { ...json, "idempotency-key": " ".repeat(3) + "x".repeat(300) }],
];

let served: TestOrchestrator;
let server: TestServer;
let count = 0;

beforeAll(async () => {
  served = await createTestOrchestrator();
  server = await serve(served.orchestrator);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

/** The callers who may not: a stranger, and each lower role. */
function refusedOf(needed: Role): (Role | null)[] {
  return [null, ...roles.slice(0, roles.indexOf(needed))];
}

async function signIn(role: Role | null): Promise<{ token: string | null; username: string }> {
  count += 1;
  const username = `caller-${count}`;
  return { token: role && (await served.signIn(role, username)).token, username };
}

/** Calls as an operator of a role, or as a stranger; expects the refusal and, of an operator, its one record. */
async function expectRefusal(
  { permission, needed, role }: { permission: Permission; needed: Role; role: Role | null },
  call: (token: string | null) => Promise<[status: number, code: string | undefined]>,
): Promise<void> {
  const { token, username } = await signIn(role);
  expect(await call(token)).toEqual(role === null ? [401, "UNAUTHENTICATED"] : [403, "FORBIDDEN"]);
  const recorded = served.events.filter(
    (event) => event.actor.name === username && event.event_type === "access.denied",
  );
  expect(recorded.map(({ metadata }) => metadata)).toEqual(role === null ? [] : [{ permission, needed }]);
}

function headersOf(token: string | null, headers: Record<string, string>): Record<string, string> {
  return { ...headers, ...(token !== null && { authorization: `Bearer ${token}` }) };
}

function codeOf({ status, json }: Answer): [number, string | undefined] {
  const body = json as { code?: string; error?: { data: { problem: { code: string } } } } | undefined;
  return [status, body?.error?.data.problem.code ?? body?.code];
}

describe.each(procedures)("%s", (permission, procedure, needed) => {
  const { type, meta } = procedure._def;
  const { method, path } = (meta as ProcedureMeta).openapi!;
  const takesBody = method !== "GET" && method !== "DELETE";
  const filled = `/api/v1${path.replaceAll(/\{\w+\}/g, "no%20name")}`;

  test.each(refusedOf(needed))("over REST, of %s", async (role) => {
    const wrong = { permission, needed, role };
    const send =
      (query: string, headers = {}, body?: string) =>
      (token: string | null) =>
        server
          .call({ method, path: filled + query, headers: headersOf(token, headers), ...(body && { body }) })
          .then(codeOf);
    await expectRefusal(wrong, send("?nonsense=1&limit=x&limit=%ff"));
    for (const [, body, headers] of badBodies) {
      if (takesBody || method === "DELETE") await expectRefusal(wrong, send("", headers, body));
    }
  });

  test.each(refusedOf(needed))("over tRPC, of %s", async (role) => {
    const wrong = { permission, needed, role };
    if (type === "mutation") {
      // Which procedure is meant is told by the type of the body, and what is announced as too large is not passed on at all.
      for (const [, body, headers] of badBodies.filter(([what]) => !/type|than is read/.test(what))) {
        const call = { method: "POST", path: `/trpc/${permission}`, body };
        await expectRefusal(wrong, (token) =>
          server.call({ ...call, headers: headersOf(token, headers) }).then(codeOf),
        );
      }
    } else if ((meta as ProcedureMeta).rest?.produces === undefined && type === "query") {
      for (const input of ["[1", "[1]", '{"nonsense":1}', "%22x%22"]) {
        const at = `/trpc/${permission}?input=${encodeURIComponent(input)}`;
        await expectRefusal(wrong, (token) =>
          server.call({ path: at, headers: headersOf(token, {}) }).then(codeOf),
        );
      }
    }
  });

  test.each(refusedOf(needed))("within the process, of %s", async (role) => {
    for (const input of [null, { nonsense: 1 }]) {
      await expectRefusal({ permission, needed, role }, async (token) => {
        const info = { request_id: "matrix", source_address: null, if_match: null };
        const context = createContextFactory<Caller, Orchestrator>(served.orchestrator)(
          info,
          token === null ? undefined : `Bearer ${token}`,
        );
        const [area = "", verb = ""] = permission.split(".");
        const caller = appRouter.createCaller(context) as unknown as Record<string, Verbs>;
        const thrown: unknown = await caller[area]![verb]!(input).catch((error: unknown) => error);
        const { code } = (thrown as { cause: { code: string } }).cause;
        return [code === "FORBIDDEN" ? 403 : 401, code];
      });
    }
  });
});

type Verbs = Record<string, (input: unknown) => Promise<unknown>>;
