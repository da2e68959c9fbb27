import { expect, it, test } from "vitest";
import { createClient, type Client } from "fleetwright/client";
import { inputFields } from "../../../adapters/rest/parameters.ts";
import { restProcedures } from "../../../adapters/rest/routes.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";

/** Operations that have no verb of their own, each with its reason. */
const without: Record<string, string> = {
  "auth.challenge": "signIn does it",
  "auth.verify": "signIn does it",
  "auth.signOut": "signOut does it",
};

type Verb = (...inputs: unknown[]) => Promise<unknown> | AsyncGenerator<unknown>;

interface Asked {
  method: string;
  path: string;
  query: Record<string, string>;
  body: unknown;
  key: string | null;
}

const operations = restProcedures(appRouter).filter(([name]) => !(name in without));

it.each(operations)("%s is sent as the router has it", async (name, procedure) => {
  const { method, path } = (procedure._def.meta as ProcedureMeta).openapi!;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, field = ""]) => field);
  const values = inPath.map((field) => [field, `a/${field}`] as const);
  const isStream = procedure._def.type === "subscription";
  const others = [...inputFields(procedure).keys()].some((field) => !inPath.includes(field)) && !isStream;
  const input = { ...Object.fromEntries(values.slice(1)), ...(others && { given: "x" }) };
  const asked = await requestOf(name, [
    ...values.slice(0, 1).map(([, value]) => value),
    ...(Object.keys(input).length > 0 ? [input] : []),
    ...(isStream ? [] : [{ idempotencyKey: "k" }]),
  ]);
  const isInQuery = method === "GET" || method === "DELETE";
  expect(asked).toEqual({
    method,
    path: path.replaceAll(/\{(\w+)\}/g, "a%2F$1"),
    query: isInQuery && others ? { given: "x" } : {},
    body: !isInQuery && others ? { given: "x" } : undefined,
    key: isStream ? null : "k",
  });
});

test("what may be left out may be left out", async () => {
  expect(await requestOf("agents.list", [])).toMatchObject({ path: "/agents", query: {}, body: undefined });
  expect(await requestOf("state.applyNow", ["n"])).toMatchObject({
    path: "/agents/n/apply",
    body: undefined,
  });
});

test.each(["", ".", ".."])(
  "a part of a path that a URL would lose is refused, and nothing is asked: %j",
  async (key) => {
    const client = createClient({
      url: "http://127.0.0.1:1",
      token: "fw_x",
      fetch: () => Promise.reject(new Error("asked")),
    });
    await expect(client.tags.remove("n", { key })).rejects.toThrow(`key can't be ${JSON.stringify(key)}.`);
    await expect(client.agents.get(key)).rejects.toThrow(TypeError);
  },
);

/** What a verb of the client asks a server for. */
async function requestOf(procedure: string, inputs: unknown[]): Promise<Asked | undefined> {
  const asked: Asked[] = [];
  const client = createClient({
    url: "http://127.0.0.1:1",
    token: "fw_x",
    fetch: async (url, { method = "", body, headers }) => {
      const { pathname, searchParams } = new URL(url);
      asked.push({
        method,
        path: pathname.replace("/api/v1", ""),
        query: Object.fromEntries(searchParams),
        body: typeof body === "string" ? (JSON.parse(body) as unknown) : undefined,
        key: new Headers(headers).get("idempotency-key"),
      });
      return new Response('{"type":"x","title":"x","status":400,"detail":"x","code":"X"}', { status: 400 });
    },
  });
  const [group = "", name = ""] = procedure.replace("applyNow", "apply").split(".");
  const verbs = client[group as keyof Client] as unknown as Record<string, Verb>;
  const made = verbs[name]!(...inputs);
  await expect("next" in made ? made.next() : made).rejects.toMatchObject({ code: "X" });
  return asked[0];
}
