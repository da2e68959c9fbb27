import { schemas } from "fleetwright";
import type { RolloutDetail } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Rollouts";
const open: readonly string[] = ["running", "paused", "stopping"];

/** 202 while the rollout has not ended. */
export const started = {
  status: ({ status }: RolloutDetail) => (open.includes(status) ? 202 : 200),
  statuses: [200, 202],
  location: ({ rollout_id }: RolloutDetail) => `/rollouts/${rollout_id}`,
} as const;

export const rolloutProcedures = t.router({
  list: procedure
    .meta(
      route("rollouts.list", "GET /rollouts", {
        tag,
        summary: "List rollouts, most recent first",
        description: "Assignments carried out, or being carried out, on the agents they matched.",
      }),
    )
    .input(schemas.listRolloutsInput)
    .output(schemas.rolloutPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.rollouts.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("rollouts.get", "GET /rollouts/{rollout_id}", {
        tag,
        summary: "Get one rollout with its agents",
        description:
          "With its first 1,000 agents in the order in which they are begun; `truncated` says whether there are more. With `wait_seconds` once it has ended, or after that time.",
      }),
    )
    .input(schemas.getRolloutInput)
    .output(schemas.rolloutDetailSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.rollouts.get(await ctx.caller(), input)),
  agents: procedure
    .meta(
      route("rollouts.agents", "GET /rollouts/{rollout_id}/agents", {
        tag,
        summary: "List the agents of a rollout",
        description:
          "Its agents in the order in which they are begun, with what came of each. A filtered page may be short.",
      }),
    )
    .input(schemas.listMembersInput)
    .output(schemas.rolloutMemberPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.rollouts.agents(await ctx.caller(), input)),
  changes: procedure
    .meta(
      route("rollouts.changes", "GET /rollouts/{rollout_id}/changes", {
        tag,
        summary: "List what a rollout changed, in groups of agents",
        description:
          "Agents whose operations ended alike stand together, smallest group first, and what was, would be or could not be changed is told once for all of them. What is hidden counts as equal. A page may be short. A command has no groups here.",
      }),
    )
    .input(schemas.listGroupsInput)
    .output(schemas.rolloutGroupPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.rollouts.changes(await ctx.caller(), input)),
  pause: procedure
    .meta(
      route("rollouts.pause", "POST /rollouts/{rollout_id}/pause", {
        tag,
        summary: "Begin no further agent for now",
        description: "What runs on a machine goes on there; no further agent is begun before it is resumed.",
        problems: ["INVALID_TRANSITION"],
        rest: started,
      }),
    )
    .input(schemas.changeRolloutInput)
    .output(schemas.rolloutDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.rollouts.pause(await ctx.caller(), input)),
  resume: procedure
    .meta(
      route("rollouts.resume", "POST /rollouts/{rollout_id}/resume", {
        tag,
        summary: "Go on with a paused rollout",
        description: "Goes on where it was paused.",
        problems: ["INVALID_TRANSITION"],
        rest: started,
      }),
    )
    .input(schemas.changeRolloutInput)
    .output(schemas.rolloutDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.rollouts.resume(await ctx.caller(), input)),
  cancel: procedure
    .meta(
      route("rollouts.cancel", "POST /rollouts/{rollout_id}/cancel", {
        tag,
        summary: "End a rollout; what runs on a machine is finished there",
        description:
          "No further agent is begun, and operations in progress go on to their end. `POST /state/runs/{rollout_id}/cancel` ends a command also where it runs.",
        problems: ["INVALID_TRANSITION"],
        rest: started,
      }),
    )
    .input(schemas.changeRolloutInput)
    .output(schemas.rolloutDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.rollouts.cancel(await ctx.caller(), input)),
});
