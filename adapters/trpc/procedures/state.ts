import { schemas } from "fleetwright";
import type { DriftRecord, Operation } from "fleetwright";
import { procedure, route, t } from "./builder.ts";
import { toTracked } from "./events.ts";

/** What may go wrong when work is sent to one agent. */
const run = [
  "AGENT_NOT_APPROVED",
  "AGENT_OFFLINE",
  "AGENT_UNSUPPORTED",
  "MODULE_MISSING",
  "PARAMS_INVALID",
  "RESOURCE_CONFLICT",
  "SECRET_UNAVAILABLE",
  "TEMPLATE_FAILED",
  "UNKNOWN_RESOURCE_TYPE",
] as const;

const tag = "State";

/** 202 while the operation is open. */
const started = {
  status: ({ status }: Operation) => (status === "queued" || status === "running" ? 202 : 200),
  statuses: [200, 202],
  location: (operation: Operation) => `/state/operations/${operation.operation_id}`,
} as const;

/** 202 while the check is open. */
const checking = {
  status: ({ status }: DriftRecord) => (status === "running" ? 202 : 200),
  statuses: [200, 202],
  location: (record: DriftRecord) => `/drift/${record.drift_id}`,
} as const;

export const stateProcedures = t.router({
  applyNow: procedure
    .meta(
      route("state.applyNow", "POST /agents/{node_id}/apply", {
        tag,
        summary: "Apply modules to the agent",
        description:
          "Brings the machine to its desired state: all that assignments say and calls named before or, with `modules` and `remove_modules`, these alone; what others brought stays as it is. One apply runs on an agent at a time; a second waits. Answers with 200 when it has ended within `wait_seconds`, else with 202.",
        problems: [
          "MAINTENANCE_WINDOW",
          ...run,
          "EMPTY_DESIRED_STATE",
          "IN_USE",
          "PLAN_STALE",
          "TOO_MANY_REMOVALS",
          "INVALID_TRANSITION",
        ],
        rest: started,
      }),
    )
    .input(schemas.applyInput)
    .output(schemas.operationSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.operations.apply(await ctx.caller(), input)),
  plan: procedure
    .meta(
      route("state.plan", "POST /agents/{node_id}/plan", {
        tag,
        summary: "Plan a change of the agent",
        description:
          "Tells what an apply would change, and changes nothing. Answers with 200 when it has ended within `wait_seconds`, else with 202.",
        problems: [...run, "IN_USE"],
        rest: started,
      }),
    )
    .input(schemas.planInput)
    .output(schemas.operationSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.operations.plan(await ctx.caller(), input)),
  forget: procedure
    .meta(
      route("state.forget", "POST /agents/{node_id}/state/forget", {
        tag,
        summary: "Drop ownership of what was applied",
        description:
          "Has the agent forget resources, and touches nothing on the machine: they stay as they are and nothing takes them back any more. What is still desired becomes owned again with its next apply. Answers with 200 when it has ended within `wait_seconds`, else with 202.",
        problems: ["AGENT_NOT_APPROVED", "AGENT_OFFLINE"],
        rest: started,
      }),
    )
    .input(schemas.forgetInput)
    .output(schemas.operationSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.operations.forget(await ctx.caller(), input)),
  believed: procedure
    .meta(
      route("state.believed", "GET /agents/{node_id}/state", {
        tag,
        summary: "Get the believed state of the machine",
        description:
          "What was applied last, what the next apply removes, what is desired but not applied yet, and who brings each module: assignments, or a call that named it. Where nobody can work out what is desired, `error` says why.",
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.believedStateSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operations.believed(await ctx.caller(), input)),
});

export const operationProcedures = t.router({
  list: procedure
    .meta(
      route("operations.list", "GET /state/operations", {
        tag,
        summary: "List operations, most recent first",
        description: "Plans and applies of all agents that pass every filter.",
      }),
    )
    .input(schemas.listOperationsInput)
    .output(schemas.operationPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operations.list(await ctx.caller(), input)),
  listForAgent: procedure
    .meta(
      route("operations.listForAgent", "GET /agents/{node_id}/state/operations", {
        tag,
        summary: "List operations of one agent, most recent first",
        description: "Plans and applies of one agent that pass every filter.",
      }),
    )
    .input(schemas.listAgentOperationsInput)
    .output(schemas.operationPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operations.listForAgent(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("operations.get", "GET /state/operations/{operation_id}", {
        tag,
        summary: "Get one operation with the result of each resource",
        description: "What happened, or would happen, to each resource.",
      }),
    )
    .input(schemas.operationIdInput)
    .output(schemas.operationDetailSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operations.get(await ctx.caller(), input)),
  output: procedure
    .meta(
      route("operations.output", "GET /agents/{node_id}/state/operations/{operation_id}/output", {
        tag,
        summary: "Get what the scripts of an operation printed",
        description: "What scripts wrote to stdout and stderr, with secrets made unreadable.",
      }),
    )
    .input(schemas.operationOfAgentInput)
    .output(schemas.outputListSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operations.output(await ctx.caller(), input)),
  cancel: procedure
    .meta(
      route("operations.cancel", "POST /state/operations/{operation_id}/cancel", {
        tag,
        summary: "Stop an operation",
        description:
          "A script that runs is ended (SIGTERM, after 5 s SIGKILL; its result says which). Any other change in progress is finished, never cut. What comes after it is skipped.",
        problems: ["INVALID_TRANSITION"],
        rest: started,
      }),
    )
    .input(schemas.operationIdInput)
    .output(schemas.operationSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.operations.cancel(await ctx.caller(), input)),
  watch: procedure
    .meta(
      route("operations.watch", "GET /state/operations/{operation_id}/watch", {
        tag,
        summary: "Watch one operation until it has ended",
        description:
          "Server-sent events: the operation as it stands, each resource as it is done, what scripts print, and `ended` as the last. The schema is that of the data of each event. Who comes back is told all of it again.",
        problems: ["RATE_LIMITED"],
        rest: { streams: schemas.operationWatchItemSchema },
      }),
    )
    .input(schemas.watchOperationInput)
    .subscription(async function* ({ ctx, input, signal }) {
      yield* toTracked(ctx.orchestrator.operations.watch(await ctx.caller(), input, signal));
    }),
});

export const driftProcedures = t.router({
  check: procedure
    .meta(
      route("drift.check", "POST /agents/{node_id}/drift", {
        tag,
        summary: "Compare the machine with its last successful apply",
        description:
          "Compares the machine with the snapshot of its last successful apply, and changes nothing. Answers with 200 when it has ended within `wait_seconds`, else with 202.",
        problems: ["AGENT_NOT_APPROVED", "AGENT_OFFLINE", "NO_BASELINE"],
        rest: checking,
      }),
    )
    .input(schemas.checkDriftInput)
    .output(schemas.driftDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.drift.check(await ctx.caller(), input)),
  newest: procedure
    .meta(
      route("drift.newest", "GET /drift", {
        tag,
        summary: "List what the newest drift check of each agent found",
        description:
          "By node_id. An agent that was not checked since everything was applied on it is not in the list; nor is one that is not approved.",
        problems: ["SELECTOR_INVALID", "CURSOR_INVALID"],
      }),
    )
    .input(schemas.newestDriftInput)
    .output(schemas.agentDriftPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.drift.newest(await ctx.caller(), input)),
  list: procedure
    .meta(
      route("drift.list", "GET /agents/{node_id}/drift", {
        tag,
        summary: "List drift records of the agent",
        description: "Checks of one agent, newest first.",
      }),
    )
    .input(schemas.listDriftInput)
    .output(schemas.driftPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.drift.list(await ctx.caller(), input)),
  latest: procedure
    .meta(
      route("drift.latest", "GET /agents/{node_id}/drift/latest", {
        tag,
        summary: "Get the newest drift record",
        description: "The newest check of one agent. `NOT_FOUND` where there was none.",
      }),
    )
    .input(schemas.agentIdInput)
    .output(schemas.driftDetailSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.drift.latest(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("drift.get", "GET /drift/{drift_id}", {
        tag,
        summary: "Get one drift record",
        description: "One check, with what differs of each resource.",
      }),
    )
    .input(schemas.driftIdInput)
    .output(schemas.driftDetailSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.drift.get(await ctx.caller(), input)),
});
