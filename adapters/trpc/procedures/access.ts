import { schemas } from "fleetwright";
import type { Operator } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Access";

export const authProcedures = t.router({
  challenge: procedure
    .meta(
      route("auth.challenge", "POST /auth/challenge", {
        tag,
        summary: "Issue a nonce for the operator to sign",
        description:
          "The first step of signing in. Check that `message` names the origin that you called and the orchestrator's key that you know, sign it with the operator's Ed25519 key, without a line end, and send the signature to `POST /auth/verify` before `expires_at`. A key that nobody has gets a challenge, too, so that keys can't be probed. An `audience` that is not this service is refused: a server in between asked for it.",
        problems: ["KEY_REFUSED", "ORIGIN_REFUSED", "RATE_LIMITED"],
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
        description:
          "The second step of signing in. Send the token that comes back as `Authorization: Bearer` with every other request. A challenge is good for one attempt.",
        problems: ["CHALLENGE_INVALID", "SIGNATURE_INVALID", "RATE_LIMITED"],
      }),
    )
    .input(schemas.verifyInput)
    .output(schemas.sessionSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.access.verify(await ctx.stranger(), input)),
  session: procedure
    .meta(
      route("auth.session", "GET /auth/session", {
        tag,
        summary: "Tell who the caller is",
        description: "The operator behind the token, and when the session ends in any case.",
      }),
    )
    .output(schemas.sessionInfoSchema)
    .query(async ({ ctx }) => ctx.orchestrator.access.session(await ctx.caller())),
  signOut: procedure
    .meta(
      route("auth.signOut", "DELETE /auth/session", {
        tag,
        summary: "End the session",
        description: "The token is worthless from then on, and streams that it opened end.",
      }),
    )
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx }) => ctx.orchestrator.access.signOut(await ctx.caller())),
});

const made = {
  status: 201,
  location: (operator: Operator) => `/operators/${operator.operator_id}`,
  version: versionOf,
} as const;

export const operatorProcedures = t.router({
  list: procedure
    .meta(
      route("operators.list", "GET /operators", {
        tag,
        summary: "List operators",
        description: "Everybody who may sign in, in the order of their usernames.",
      }),
    )
    .input(schemas.listOperatorsInput)
    .output(schemas.operatorPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.operators.list(await ctx.caller(), input)),
  add: procedure
    .meta(
      route("operators.add", "POST /operators", {
        tag,
        summary: "Add an operator",
        description:
          "Registers the public key of somebody who may sign in from now on. The private key never leaves them.",
        problems: ["KEY_REFUSED", "ALREADY_EXISTS"],
        rest: made,
      }),
    )
    .input(schemas.addOperatorInput)
    .output(schemas.operatorSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.operators.add(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("operators.get", "GET /operators/{operator_id}", {
        tag,
        summary: "Get one operator",
        description: "One operator by id.",
        rest: { version: versionOf },
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
        description: "Ends the operator's sessions and streams at once. The last Admin can't be removed.",
        problems: ["LAST_ADMIN"],
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
        description:
          "Ends the operator's sessions, so that the new role holds at once; where the role stays, so do they. The last Admin stays one.",
        problems: ["LAST_ADMIN"],
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.setRoleInput)
    .output(schemas.operatorSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.operators.setRole(await ctx.caller(), input, ctx.change()),
    ),
});
