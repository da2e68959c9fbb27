import { schemas } from "fleetwright";
import type { RunDetail } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Runs";
const open: readonly string[] = ["running", "paused", "stopping"];

/** 202 while the run has not ended. */
const started = {
  status: ({ status }: RunDetail) => (open.includes(status) ? 202 : 200),
  statuses: [200, 202],
  location: ({ rollout_id }: RunDetail) => `/state/runs/${rollout_id}`,
} as const;

export const runProcedures = t.router({
  start: procedure
    .meta(
      route("runs.start", "POST /state/runs", {
        tag,
        summary: "Run a command on many agents",
        description:
          "Runs a command or a script once on each agent that a selector matches, or that `node_ids` names. Nothing of it is kept as applied. Answers with 200 when it has ended on all within `wait_seconds`, else with 202.",
        problems: ["MAINTENANCE_WINDOW", "NO_MATCH", "NOT_FOUND", "SELECTOR_INVALID"],
        rest: { ...started, needsBody: true },
      }),
    )
    .input(schemas.startRunInput)
    .output(schemas.runDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.runs.start(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("runs.get", "GET /state/runs/{rollout_id}", {
        tag,
        summary: "Get one run and what came of it",
        description:
          "How far it is, and the agents on which it has ended: those together on which it ended in the same way and printed the same. `GET /rollouts/{rollout_id}/agents` lists each.",
      }),
    )
    .input(schemas.runIdInput)
    .output(schemas.runDetailSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.runs.get(await ctx.caller(), input)),
  cancel: procedure
    .meta(
      route("runs.cancel", "POST /state/runs/{rollout_id}/cancel", {
        tag,
        summary: "End a run, also where its command runs",
        description:
          "No further agent begins. Where the command runs it is ended: with SIGTERM, and with SIGKILL five seconds later.",
        problems: ["INVALID_TRANSITION"],
        rest: started,
      }),
    )
    .input(schemas.runIdInput)
    .output(schemas.runDetailSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.runs.cancel(await ctx.caller(), input)),
});
