import { schemas } from "fleetwright";
import type { Operator } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Access";

export const authProcedures = t.router({
  challenge: procedure
    .meta(
      route("auth.challenge", "POST /auth/challenge", {
        tag,
        summary: "Issue a nonce for the operator to sign",
      }),
    )
    .input(schemas.challengeInput)
    .output(schemas.challengeSchema)
    .mutation(async ({ ctx, input }) => {
      if (input.audience !== undefined) ctx.assertAudience(input.audience);
      return ctx.orchestrator.access.challenge(await ctx.stranger(), input);
    }),
  verify: procedure
    .meta(
      route("auth.verify", "POST /auth/verify", {
        tag,
        summary: "Verify the signed nonce and start a session",
      }),
    )
    .input(schemas.verifyInput)
    .output(schemas.sessionSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.access.verify(await ctx.stranger(), input)),
  session: procedure
    .meta(route("auth.session", "GET /auth/session", { tag, summary: "Tell who the caller is" }))
    .output(schemas.sessionInfoSchema)
    .query(async ({ ctx }) => ctx.orchestrator.access.session(await ctx.caller())),
  signOut: procedure
    .meta(route("auth.signOut", "DELETE /auth/session", { tag, summary: "End the session" }))
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx }) => ctx.orchestrator.access.signOut(await ctx.caller())),
});

const made = { status: 201, location: (operator: Operator) => `/operators/${operator.operator_id}` } as const;

export const operatorProcedures = t.router({
  list: procedure
    .meta(route("operators.list", "GET /operators", { tag, summary: "List operators" }))
    .input(schemas.listOperatorsInput)
    .output(schemas.operatorPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operators.list(await ctx.caller(), input)),
  add: procedure
    .meta(route("operators.add", "POST /operators", { tag, summary: "Add an operator", rest: made }))
    .input(schemas.addOperatorInput)
    .output(schemas.operatorSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.operators.add(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("operators.get", "GET /operators/{operator_id}", {
        tag,
        summary: "Get one operator",
        rest: { versioned: true },
      }),
    )
    .input(schemas.operatorIdInput)
    .output(schemas.operatorSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operators.get(await ctx.caller(), input)),
  remove: procedure
    .meta(
      route("operators.remove", "DELETE /operators/{operator_id}", {
        tag,
        summary: "Remove an operator",
        rest: { conditional: true },
      }),
    )
    .input(schemas.operatorIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.operators.remove(await ctx.caller(), input, ctx.change()),
    ),
  setRole: procedure
    .meta(
      route("operators.setRole", "PATCH /operators/{operator_id}", {
        tag,
        summary: "Change an operator's role",
        rest: { conditional: true },
      }),
    )
    .input(schemas.setRoleInput)
    .output(schemas.operatorSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.operators.setRole(await ctx.caller(), input, ctx.change()),
    ),
});
