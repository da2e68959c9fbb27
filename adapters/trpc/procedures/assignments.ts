import { schemas } from "fleetwright";
import type { Assignment } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";
import { started } from "./rollouts.ts";

const tag = "Assignments";
const made = {
  status: 201,
  location: (assignment: Assignment) => `/assignments/${assignment.name}`,
  version: versionOf,
} as const;

export const assignmentProcedures = t.router({
  list: procedure
    .meta(
      route("assignments.list", "GET /assignments", {
        tag,
        summary: "List assignments",
        description: "Assignments by name, each with how many approved agents it matches now.",
      }),
    )
    .input(schemas.listAssignmentsInput)
    .output(schemas.assignmentPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.assignments.list(await ctx.caller(), input)),
  create: procedure
    .meta(
      route("assignments.create", "POST /assignments", {
        tag,
        summary: "Create an assignment",
        description:
          "Binds modules to a selector. Nothing changes on any machine before it is applied. `*` means every agent and must be written.",
        problems: [
          "NOT_FOUND",
          "SELECTOR_INVALID",
          "RESOURCE_CONFLICT",
          "TEMPLATE_FAILED",
          "UNKNOWN_RESOURCE_TYPE",
          "ALREADY_EXISTS",
        ],
        rest: made,
      }),
    )
    .input(schemas.createAssignmentInput)
    .output(schemas.assignmentSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.assignments.create(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("assignments.get", "GET /assignments/{name}", {
        tag,
        summary: "Get one assignment",
        description: "With the agents that the selector matches now.",
        rest: { version: versionOf },
      }),
    )
    .input(schemas.assignmentNameInput)
    .output(schemas.assignmentDetailSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.assignments.get(await ctx.caller(), input)),
  update: procedure
    .meta(
      route("assignments.update", "PUT /assignments/{name}", {
        tag,
        summary: "Change an assignment",
        description: "What is absent stays as it is. Machines change at the next apply.",
        problems: ["SELECTOR_INVALID", "RESOURCE_CONFLICT", "TEMPLATE_FAILED", "UNKNOWN_RESOURCE_TYPE"],
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.updateAssignmentInput)
    .output(schemas.assignmentSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.assignments.update(await ctx.caller(), input, ctx.change()),
    ),
  remove: procedure
    .meta(
      route("assignments.remove", "DELETE /assignments/{name}", {
        tag,
        summary: "Delete an assignment",
        description: "What it brought to machines is no longer desired: the next apply there removes it.",
        rest: { conditional: true },
      }),
    )
    .input(schemas.assignmentNameInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.assignments.remove(await ctx.caller(), input, ctx.change()),
    ),
  applyNow: procedure
    .meta(
      route("assignments.applyNow", "POST /assignments/{name}/apply", {
        tag,
        summary: "Apply to every agent that the selector matches now",
        description:
          "A rollout with one operation for each agent that matches at the time of the call, in batches where the assignment says so. With `plan_rollout_id` exactly what that plan said, on its agents alone. Answers with 200 when all have ended within `wait_seconds`, else with 202.",
        problems: [
          "MAINTENANCE_WINDOW",
          "NO_MATCH",
          "UNKNOWN_RESOURCE_TYPE",
          "PLAN_STALE",
          "INVALID_TRANSITION",
        ],
        rest: started,
      }),
    )
    .input(schemas.rolloutApplyInput)
    .output(schemas.rolloutDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.rollouts.apply(await ctx.caller(), input)),
  plan: procedure
    .meta(
      route("assignments.plan", "POST /assignments/{name}/plan", {
        tag,
        summary: "Plan against every agent that the selector matches now",
        description:
          "As apply, but nothing is changed: each operation tells what would change. Answers with 200 when all have ended within `wait_seconds`, else with 202.",
        problems: ["NO_MATCH", "UNKNOWN_RESOURCE_TYPE"],
        rest: started,
      }),
    )
    .input(schemas.rolloutPlanInput)
    .output(schemas.rolloutDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.rollouts.plan(await ctx.caller(), input)),
});
