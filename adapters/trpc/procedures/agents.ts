import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Agents";

export const agentProcedures = t.router({
  list: procedure
    .meta(route("agents.list", "GET /agents", { tag, summary: "List agents" }))
    .input(schemas.listAgentsInput)
    .output(schemas.agentPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.agents.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("agents.get", "GET /agents/{node_id}", {
        tag,
        summary: "Get one agent",
        rest: { versioned: true },
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.agentSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.agents.get(await ctx.caller(), input)),
  setStatus: procedure
    .meta(
      route("agents.setStatus", "POST /agents/{node_id}", {
        tag,
        summary: "Approve or reject an agent",
        rest: { conditional: true },
      }),
    )
    .input(schemas.setStatusInput)
    .output(schemas.agentSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.setStatus(await ctx.caller(), input, ctx.change()),
    ),
  remove: procedure
    .meta(
      route("agents.remove", "DELETE /agents/{node_id}", {
        tag,
        summary: "Remove a rejected agent's record",
        rest: { conditional: true },
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.remove(await ctx.caller(), input, ctx.change()),
    ),
  rejectPending: procedure
    .meta(
      route("agents.rejectPending", "POST /pending-agents/reject", {
        tag,
        summary: "Reject agents that wait to be approved",
      }),
    )
    .input(schemas.rejectPendingInput)
    .output(schemas.rejectedAgentsSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.agents.rejectPending(await ctx.caller(), input)),
  attributes: procedure
    .meta(
      route("agents.attributes", "GET /agents/{node_id}/attributes", {
        tag,
        summary: "Get the attributes of an agent",
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.agentAttributesSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.agents.attributes(await ctx.caller(), input)),
});

export const tagProcedures = t.router({
  list: procedure
    .meta(route("tags.list", "GET /tags", { tag, summary: "List all distinct tag keys and values" }))
    .output(schemas.tagListSchema)
    .query(async ({ ctx }) => ctx.orchestrator.agents.tags.list(await ctx.caller())),
  replace: procedure
    .meta(
      route("tags.replace", "PUT /agents/{node_id}/tags", {
        tag,
        summary: "Replace all tags of an agent",
        rest: { conditional: true },
      }),
    )
    .input(schemas.replaceTagsInput)
    .output(schemas.agentTagsSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.tags.replace(await ctx.caller(), input, ctx.change()),
    ),
  set: procedure
    .meta(
      route("tags.set", "PUT /agents/{node_id}/tags/{key}", {
        tag,
        summary: "Set one tag of an agent",
        rest: { conditional: true },
      }),
    )
    .input(schemas.setTagInput)
    .output(schemas.agentTagsSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.tags.set(await ctx.caller(), input, ctx.change()),
    ),
  remove: procedure
    .meta(
      route("tags.remove", "DELETE /agents/{node_id}/tags/{key}", {
        tag,
        summary: "Remove one tag of an agent",
        rest: { conditional: true },
      }),
    )
    .input(schemas.removeTagInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.tags.remove(await ctx.caller(), input, ctx.change()),
    ),
});
