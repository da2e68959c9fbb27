/** What the servers under test have in common: one agent of the usual size, behind a session. */
import { initTRPC } from "@trpc/server";
import { z } from "zod";
import { OrchestratorError } from "fleetwright";
import type { AppOptions } from "../../../adapters/h3/app.ts";
import { createContextFactory } from "../../../adapters/trpc/context.ts";
import type { RequestContext } from "../../../adapters/trpc/context.ts";
import { errorLink, trpcOptions } from "../../../adapters/trpc/trpc.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";

const nodeId = "0d9f5f3e2b11a0c47be1f0e2d3c4b5a6";
/** The path of the agent. */
export const path = `/api/v1/agents/${nodeId}`;
/** The headers that an ordinary client sends. */
export const headers = { authorization: `Bearer fw_${"a".repeat(43)}`, accept: "application/json" };

const agentSchema = z.strictObject({
  node_id: z.string(),
  name: z.string().optional(),
  status: z.enum(["pending", "approved", "rejected"]),
  connected: z.boolean(),
  hostname: z.string(),
  platform: z.string(),
  agent_version: z.string(),
  first_seen_at: z.string(),
  last_seen_at: z.string(),
  tags: z.record(z.string(), z.string()),
});

/** The agent: 370 bytes of JSON. */
export const agent: z.infer<typeof agentSchema> = {
  node_id: nodeId,
  name: "web-0001",
  status: "approved",
  connected: true,
  hostname: "web-0001.example.net",
  platform: "linux",
  agent_version: "0.1.0",
  first_seen_at: "2026-01-01T00:00:00.000Z",
  last_seen_at: "2026-11-21T12:00:00.000Z",
  tags: { env: "production", role: "web", region: "eu-west-1", "team/owner": "platform" },
};

interface Caller {
  name: string;
}
const sessions = new Map<string, Caller>([[headers.authorization.slice(7), { name: "ada" }]]);
const orchestrator = {
  agents: new Map([[nodeId, agent]]),
  access: {
    async authenticate(token: string | null): Promise<Caller> {
      if (token === null) return { name: "nobody" };
      const caller = sessions.get(token);
      if (caller === undefined) throw new OrchestratorError("UNAUTHENTICATED");
      return caller;
    },
    async authorize(): Promise<void> {},
  },
  idempotency: {
    once: async <Output>(caller: Caller, _call: object, run: (caller: Caller) => Promise<Output>) =>
      run(caller),
  },
};

const t = initTRPC
  .context<RequestContext<typeof orchestrator, Caller>>()
  .meta<ProcedureMeta>()
  .create(trpcOptions);

// A link of its own keeps a procedure on tRPC's chain: for comparison.
const chainLink = t.middleware(({ next }) => next());

/** A router of 70 routes, of which one is asked for. */
export function createRouter(viaChain: boolean) {
  const base = t.procedure.use(errorLink);
  const procedure = viaChain ? base.use(chainLink) : base;
  const others = Array.from({ length: 69 }, (_, index) => [
    `other${index}`,
    procedure
      .meta({ openapi: { method: "GET", path: `/things/{id}/part${index}` } })
      .input(z.strictObject({ id: z.string() }))
      .output(z.strictObject({ id: z.string() }))
      .query(({ input }) => input),
  ]);
  return t.router({
    ...Object.fromEntries(others),
    get: procedure
      .meta({ openapi: { method: "GET", path: "/agents/{node_id}" } })
      .input(z.strictObject({ node_id: z.string().max(64) }))
      .output(agentSchema)
      .query(async ({ ctx, input }) => {
        await ctx.caller();
        const found = ctx.orchestrator.agents.get(input.node_id);
        if (found === undefined) throw new OrchestratorError("NOT_FOUND");
        return found;
      }),
  });
}

/** The options of an app around the router. */
export function appOptions(viaChain: boolean): AppOptions<RequestContext<typeof orchestrator, Caller>> {
  return {
    router: createRouter(viaChain),
    createContext: createContextFactory<Caller, typeof orchestrator>(orchestrator),
    isReady: () => true,
  };
}
