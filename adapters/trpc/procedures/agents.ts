import { schemas } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Agents";

export const agentProcedures = t.router({
  list: procedure
    .meta(
      route("agents.list", "GET /agents", {
        tag,
        summary: "List agents",
        description:
          "Agents that pass every filter. `connected` says whether an agent is connected at this moment; attributes come with the single agent only.",
      }),
    )
    .input(schemas.listAgentsInput)
    .output(schemas.agentPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.agents.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("agents.get", "GET /agents/{node_id}", {
        tag,
        summary: "Get one agent",
        description: "One agent by id, with the attributes of its machine.",
        rest: { version: versionOf },
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
        description:
          "Approve an agent before anything can be done with it. Rejecting one that is connected ends its connection. Both ways are open later; the same status again is refused. With `expected_status` nobody is decided about whom somebody else decided about meanwhile.",
        problems: ["INVALID_TRANSITION", "ALREADY_EXISTS"],
        rest: { conditional: true, version: versionOf },
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
        description:
          "Only a rejected agent can be removed. Its tags, its state and its history go with it; the same key coming back is pending, with nothing inherited.",
        problems: ["INVALID_TRANSITION"],
        rest: { conditional: true },
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.remove(await ctx.caller(), input, ctx.change()),
    ),
  setStatuses: procedure
    .meta(
      route("agents.setStatuses", "POST /agent-statuses", {
        tag,
        summary: "Approve or reject many agents",
        description:
          "Up to 1000 agents, by id or by selector, each decided about by itself: one that fails keeps none of the others, and the answer says what happened to each. Whom somebody else has decided about is left out. A selector approves only agents that wait, rejects none that are rejected, and is refused where it matches none of them.",
        problems: ["SELECTOR_INVALID", "CURSOR_INVALID", "NO_MATCH"],
      }),
    )
    .input(schemas.setStatusesInput)
    .output(schemas.agentOutcomesSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.agents.setStatuses(await ctx.caller(), input)),
  rename: procedure
    .meta(
      route("agents.rename", "PUT /agents/{node_id}/name", {
        tag,
        summary: "Rename an agent",
        description:
          "An agent that has a name gets another one. Selectors go by it at once; a name that another agent has is refused, and that agent is told.",
        problems: ["INVALID_TRANSITION", "ALREADY_EXISTS"],
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.renameAgentInput)
    .output(schemas.agentSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.rename(await ctx.caller(), input, ctx.change()),
    ),
  setNames: procedure
    .meta(
      route("agents.setNames", "POST /agent-names", {
        tag,
        summary: "Rename many agents",
        description:
          "Up to 1000 agents get the names that are given, or, by id or by selector, names made of their hostnames or of an attribute. The answer says what happened to each; of a name that is taken it tells both agents.",
        problems: ["SELECTOR_INVALID", "CURSOR_INVALID", "NO_MATCH"],
        rest: { needsBody: true },
      }),
    )
    .input(schemas.setNamesInput)
    .output(schemas.agentOutcomesSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.agents.setNames(await ctx.caller(), input)),
  replace: procedure
    .meta(
      route("agents.replace", "POST /agents/{node_id}/replace", {
        tag,
        summary: "Have an agent take the place of another",
        description:
          "For a machine that was installed anew, and so has another key: the agent `by` gets the name and the tags of this one and the modules that calls named for it, and is approved; this one is rejected for good, all in one step. History, and what names a `node_id`, stay with it.",
        problems: ["INVALID_TRANSITION"],
        rest: { conditional: true },
      }),
    )
    .input(schemas.replaceAgentInput)
    .output(schemas.agentSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.replace(await ctx.caller(), input, ctx.change()),
    ),
  rejectPending: procedure
    .meta(
      route("agents.rejectPending", "POST /pending-agents/reject", {
        tag,
        summary: "Reject agents that wait to be approved",
        description:
          "Whoever can reach the server can make up agents: this rejects the first 1000 that pass every filter and ends their connections. Without a filter it is all that wait.",
      }),
    )
    .input(schemas.rejectPendingInput)
    .output(schemas.rejectedAgentsSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.agents.rejectPending(await ctx.caller(), input)),
  refreshAttributes: procedure
    .meta(
      route("agents.refreshAttributes", "POST /agents/{node_id}/attributes/refresh", {
        tag,
        summary: "Have an agent tell of its machine now",
        description:
          "Answers with what it tells, once it is written. By itself an agent tells of its machine when it connects, after an apply that changed something, and, within a minute, when the machine's owner changes what is in `attributes.d`.",
        problems: ["AGENT_NOT_APPROVED", "AGENT_OFFLINE", "AGENT_TIMEOUT"],
      }),
    )
    .input(schemas.refreshAttributesInput)
    .output(schemas.agentAttributesSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.agents.refreshAttributes(await ctx.caller(), input)),
  attributes: procedure
    .meta(
      route("agents.attributes", "GET /agents/{node_id}/attributes", {
        tag,
        summary: "Get the attributes of an agent",
        description:
          "What the agent tells of its machine: flat keys with dots, such as `os.family`. Selectors can use them.",
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.agentAttributesSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.agents.attributes(await ctx.caller(), input)),
});

export const tagProcedures = t.router({
  list: procedure
    .meta(
      route("tags.list", "GET /tags", {
        tag,
        summary: "List all distinct tag keys and values",
        description: "Every key and value in use, with the number of agents that have it.",
      }),
    )
    .output(schemas.tagListSchema)
    .query(async ({ ctx }) => ctx.orchestrator.agents.tags.list(await ctx.caller())),
  replace: procedure
    .meta(
      route("tags.replace", "PUT /agents/{node_id}/tags", {
        tag,
        summary: "Replace all tags of an agent",
        description: "The agent has exactly these tags afterwards. At most 64.",
        rest: { conditional: true, version: versionOf },
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
        description: "Adds the tag or changes its value; the other tags stay.",
        rest: { conditional: true, version: versionOf },
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
        description: "The other tags stay. A tag that is not there is `NOT_FOUND`.",
        rest: { conditional: true },
      }),
    )
    .input(schemas.removeTagInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.agents.tags.remove(await ctx.caller(), input, ctx.change()),
    ),
  change: procedure
    .meta(
      route("tags.change", "POST /agent-tags", {
        tag,
        summary: "Change tags of many agents",
        description:
          "Sets and takes away tags of up to 1000 agents, by id or by selector; other tags stay. All those of one agent are changed in one step, one that fails keeps none of the others, and the answer says what happened to each.",
        problems: ["SELECTOR_INVALID", "CURSOR_INVALID", "NO_MATCH"],
      }),
    )
    .input(schemas.changeTagsInput)
    .output(schemas.agentOutcomesSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.agents.tags.change(await ctx.caller(), input)),
});
