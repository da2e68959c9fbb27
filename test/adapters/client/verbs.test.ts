import { expect, it } from "vitest";
import { createClient } from "fleetwright/client";
import { restProcedures } from "../../../adapters/rest/routes.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";

/** Operations that have no verb of their own, each with its reason. */
const without: Record<string, string> = {
  "auth.challenge": "signIn does it",
  "auth.verify": "signIn does it",
  "auth.signOut": "signOut does it",
};

/** Passes for whatever a verb takes second: an id, a tag, a query, options or a signal. */
const second = Object.assign(new AbortController().signal, { key: "P", toString: () => "P" });

it("has a verb for each operation of the REST surface", async () => {
  const asked: { method: string; path: string }[] = [];
  const client = createClient({
    url: "http://127.0.0.1:1",
    token: "fw_x",
    fetch: async (url, { method = "" }) => {
      asked.push({ method, path: new URL(url).pathname.replace("/api/v1", "") });
      return new Response('{"type":"x","title":"x","status":400,"detail":"x","code":"X"}', { status: 400 });
    },
  });
  const groups = Object.values(client).filter(
    (group): group is object => typeof group === "object" && group !== null,
  );
  for (const verb of groups.flatMap(
    (group) => Object.values(group) as ((...inputs: unknown[]) => unknown)[],
  )) {
    const made = verb("P", second) as Promise<unknown> | AsyncGenerator<unknown>;
    await ("next" in made ? made.next() : made).catch(() => {});
  }
  const missing = restProcedures(appRouter).filter(([name, { _def }]) => {
    const { method, path } = (_def.meta as ProcedureMeta).openapi!;
    const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "(P|undefined)")}$`);
    return !(name in without) && !asked.some((each) => each.method === method && pattern.test(each.path));
  });
  expect(missing.map(([name]) => name)).toEqual([]);
  expect(asked.length).toBeGreaterThan(40);
});
