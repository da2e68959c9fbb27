/** A small surface with one procedure for everything that the adapters can do. */
import { initTRPC } from "@trpc/server";
import { z } from "zod";
import { OrchestratorError } from "fleetwright";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import type { RequestContext } from "../../adapters/trpc/context.ts";
import { errorLink, trpcOptions } from "../../adapters/trpc/trpc.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";

/** Who calls the toy. */
export interface ToyCaller {
  name: string;
}

/** What the toy keeps: machines by name. */
export class Toy {
  readonly machines = new Map<string, Machine>([["web-1", { name: "web-1", level: 3, revision: 1 }]]);
  linesSent = 0;
  streamCancelled: () => void = () => {};
  readonly access = {
    authenticate: async (token: string | null): Promise<ToyCaller> => {
      if (token === null) return { name: "nobody" };
      if (token !== "fw_good") throw new OrchestratorError("UNAUTHENTICATED");
      return { name: "ada" };
    },
    authorize: async (): Promise<void> => {},
  };

  readonly idempotency = {
    once: async <Output>(
      caller: ToyCaller,
      _call: object,
      run: (caller: ToyCaller) => Promise<Output>,
    ): Promise<Output> => run(caller),
  };

  get(name: string): Machine {
    const machine = this.machines.get(name);
    if (machine === undefined) throw new OrchestratorError("NOT_FOUND");
    return machine;
  }
}

const machineSchema = z
  .strictObject({ name: z.string(), level: z.number(), revision: z.number() })
  .meta({ id: "Machine" });
type Machine = z.infer<typeof machineSchema>;
const jobSchema = z.strictObject({ job_id: z.string(), status: z.enum(["running", "done"]) });
type Job = z.infer<typeof jobSchema>;
const nothing = z.void();
const responseSchema = z
  .custom<Response>((value) => value instanceof Response)
  .meta({ override: { type: "string" } });
const name = z.string().max(64);

/** Everything that a query can say. */
export const querySchema = z.strictObject({
  limit: z.number().int().min(1).max(500).default(50),
  ratio: z.number().optional(),
  online: z.boolean().optional(),
  status: z.enum(["pending", "approved"]).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  tags: z.array(z.string()).optional(),
  levels: z.array(z.number()).optional(),
  search: z.string().nullable().optional(),
});

const t = initTRPC.context<RequestContext<Toy, ToyCaller>>().meta<ProcedureMeta>().create(trpcOptions);
const procedure = t.procedure.use(errorLink);
const route = (method: "GET" | "POST" | "PUT" | "DELETE", path: `/${string}`): ProcedureMeta => ({
  openapi: { method, path, tags: ["Machines"], summary: `${method} ${path}` },
});

/** The router of the toy. */
export const toyRouter = t.router({
  machines: t.router({
    list: procedure
      .meta(route("GET", "/machines"))
      .input(querySchema)
      .output(z.strictObject({ query: querySchema }))
      .query(({ input }) => ({ query: input })),
    get: procedure
      .meta({
        ...route("GET", "/machines/{name}"),
        rest: { version: ({ revision }: Machine) => revision },
      })
      .input(z.strictObject({ name }))
      .output(machineSchema)
      .query(({ ctx, input }) => ({ ...ctx.orchestrator.get(input.name) })),
    latest: procedure
      .meta(route("GET", "/machines/latest"))
      .output(machineSchema)
      .query(() => ({ name: "latest", level: 0, revision: 0 })),
    create: procedure
      .meta({
        ...route("POST", "/machines"),
        rest: {
          status: 201,
          location: (machine: Machine) => `/machines/${encodeURIComponent(machine.name)}`,
        },
      })
      .input(
        z.strictObject({
          name,
          level: z.number(),
          dry: z.boolean().optional(),
          config: z.strictObject({ depth: z.strictObject({ on: z.boolean() }) }).optional(),
          labels: z.record(z.string(), z.json()).optional(),
        }),
      )
      .output(machineSchema)
      .mutation(({ ctx, input }) => {
        const machine = { name: input.name, level: input.level, revision: 1 };
        ctx.orchestrator.machines.set(input.name, machine);
        return machine;
      }),
    update: procedure
      .meta({ ...route("PUT", "/machines/{name}"), rest: { conditional: true } })
      .input(z.strictObject({ name, level: z.number() }))
      .output(machineSchema)
      .mutation(({ ctx, input }) => {
        const machine = ctx.orchestrator.get(input.name);
        const { ifVersion = [machine.revision] } = ctx.change();
        if (!ifVersion.includes(machine.revision)) throw new OrchestratorError("PRECONDITION_FAILED");
        const next = { ...machine, level: input.level, revision: machine.revision + 1 };
        ctx.orchestrator.machines.set(input.name, next);
        return next;
      }),
    remove: procedure
      .meta(route("DELETE", "/machines/{name}"))
      .input(z.strictObject({ name, force: z.boolean().optional() }))
      .output(nothing)
      .mutation(({ ctx, input }) => {
        ctx.orchestrator.get(input.name);
        ctx.orchestrator.machines.delete(input.name);
      }),
    setTag: procedure
      .meta(route("PUT", "/machines/{name}/tags/{key}"))
      .input(z.strictObject({ name, key: z.string(), value: z.string() }))
      .output(z.strictObject({ name, key: z.string(), value: z.string() }))
      .mutation(({ input }) => input),
    run: procedure
      .meta({
        ...route("POST", "/machines/{name}/run"),
        rest: {
          status: (job: Job) => (job.status === "done" ? 200 : 202),
          statuses: [200, 202],
          location: (job: Job) => `/jobs/${job.job_id}`,
        },
      })
      .input(z.strictObject({ name, wait: z.boolean().optional() }))
      .output(jobSchema)
      .mutation(({ input }) => ({
        job_id: "7",
        status: input.wait === true ? ("done" as const) : ("running" as const),
      })),
    ping: procedure
      .meta(route("POST", "/machines/{name}/ping"))
      .input(z.strictObject({ name }))
      .output(nothing)
      .mutation(() => undefined),
    transcript: procedure
      .meta({ ...route("GET", "/machines/{name}/transcript"), rest: { produces: ["text/plain"] } })
      .input(z.strictObject({ name }))
      .output(responseSchema)
      .query(({ ctx, input }) => streamLines(ctx.orchestrator, input.name)),
    slot: procedure
      .meta(route("GET", "/slots/{slot}"))
      .input(z.strictObject({ slot: z.number().int() }))
      .output(z.strictObject({ slot: z.number() }))
      .query(({ input }) => input),
  }),
  me: procedure
    .meta(route("GET", "/me"))
    .output(
      z.strictObject({ name: z.string(), source_address: z.string().nullable(), request_id: z.string() }),
    )
    .query(async ({ ctx }) => ({
      name: (await ctx.caller()).name,
      source_address: ctx.request.source_address,
      request_id: ctx.request.request_id,
    })),
  fail: procedure
    .meta(route("POST", "/fail"))
    .input(z.strictObject({ how: z.enum(["busy", "full", "bug", "module", "late"]) }))
    .output(nothing)
    .mutation(({ input }) => fail(input.how)),
  leak: procedure
    .meta(route("GET", "/leak"))
    .output(z.strictObject({ name: z.string() }))
    .query(() => ({ name: "x", secret: "hunter2" })),
});

/** The type of the toy's router. */

/** Two lines, one after the other; "endless" never ends and counts what was asked of it, "broken" breaks off. */
function streamLines(toy: Toy, machine: string): Response {
  let line = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      line += 1;
      toy.linesSent = line;
      if (machine === "broken" && line === 2) throw new Error("the disk is gone");
      if (machine !== "endless" && line === 3) controller.close();
      else controller.enqueue(new TextEncoder().encode(`line ${line}\n`));
    },
    cancel() {
      toy.streamCancelled();
    },
  });
  const kept = machine === "kept" ? { "cache-control": "max-age=60" } : {};
  return new Response(body, { headers: { "content-type": "text/plain", ...kept } });
}

const issue = { path: ["content", 0], message: "unknown type", line: 3, column: 7 };

function fail(how: "busy" | "full" | "bug" | "module" | "late"): never {
  if (how === "busy") throw new OrchestratorError("RATE_LIMITED", { details: { retry_after_seconds: 6.2 } });
  if (how === "full") throw new OrchestratorError("STORAGE_FULL");
  if (how === "late") throw new OrchestratorError("AGENT_OFFLINE", { details: { node_id: "n1" } });
  if (how === "module") throw new OrchestratorError("MODULE_INVALID", { issues: [issue] });
  throw new Error("password is hunter2");
}

/** Contexts for one toy, where a call without a token is made by "nobody". */
export function toyContexts(toy: Toy) {
  return createContextFactory<ToyCaller, Toy>(toy);
}
