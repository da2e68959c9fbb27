import { schemas } from "fleetwright";
import type { CreatedEnrolmentToken } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Agents";

export const enrolmentTokenProcedures = t.router({
  list: procedure
    .meta(
      route("enrolmentTokens.list", "GET /enrolment-tokens", {
        tag,
        summary: "List all enrolment tokens",
        description:
          "Newest first; none says what the token is. They are remembered for 30 days after they expire.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listEnrolmentTokensInput)
    .output(schemas.enrolmentTokenPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.enrolmentTokens.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("enrolmentTokens.get", "GET /enrolment-tokens/{id}", {
        tag,
        summary: "Get one enrolment token",
        description: "How often it was used, and whether it still counts; never the token itself.",
        rest: { version: versionOf },
      }),
    )
    .input(schemas.enrolmentTokenIdInput)
    .output(schemas.enrolmentTokenSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.enrolmentTokens.get(await ctx.caller(), input)),
  create: procedure
    .meta(
      route("enrolmentTokens.create", "POST /enrolment-tokens", {
        tag,
        summary: "Create an enrolment token",
        description:
          "An agent that comes with it is approved and tagged by that, `uses` agents at most. The token is in this answer and nowhere else; a repetition with the same `Idempotency-Key` is refused (`IDEMPOTENCY_ANSWER_UNKNOWN`).",
        rest: {
          status: 201,
          location: ({ id }: CreatedEnrolmentToken) => `/enrolment-tokens/${id}`,
          version: versionOf,
        },
      }),
    )
    .input(schemas.createEnrolmentTokenInput)
    .output(schemas.createdEnrolmentTokenSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.enrolmentTokens.create(await ctx.caller(), input)),
  revoke: procedure
    .meta(
      route("enrolmentTokens.revoke", "DELETE /enrolment-tokens/{id}", {
        tag,
        summary: "Revoke an enrolment token",
        description: "From now on it approves nobody. The agents that it has approved stay so.",
        problems: ["INVALID_TRANSITION"],
        rest: { conditional: true },
      }),
    )
    .input(schemas.enrolmentTokenIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.enrolmentTokens.revoke(await ctx.caller(), input, ctx.change()),
    ),
});
