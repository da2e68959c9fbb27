import { schemas } from "fleetwright";
import type { Assignment } from "fleetwright";
import { procedure, route, t } from "./builder.ts";
import { started } from "./rollouts.ts";

const tag = "Assignments";
const made = {
  status: 201,
  location: (assignment: Assignment) => `/assignments/${assignment.name}`,
} as const;

export const assignmentProcedures = t.router({
  list: procedure
    .meta(route("assignments.list", "GET /assignments", { tag, summary: "List assignments" }))
    .input(schemas.listAssignmentsInput)
    .output(schemas.assignmentPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.assignments.list(await ctx.caller(), input)),
  create: procedure
    .meta(
      route("assignments.create", "POST /assignments", { tag, summary: "Create an assignment", rest: made }),
    )
    .input(schemas.createAssignmentInput)
    .output(schemas.assignmentSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.assignments.create(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("assignments.get", "GET /assignments/{name}", {
        tag,
        summary: "Get one assignment",
        rest: { versioned: true },
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
        rest: { conditional: true },
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
        rest: started,
      }),
    )
    .input(schemas.rolloutPlanInput)
    .output(schemas.rolloutDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.rollouts.plan(await ctx.caller(), input)),
});
