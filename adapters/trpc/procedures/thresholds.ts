import { schemas } from "fleetwright";
import type { Threshold } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Metrics";

export const thresholdProcedures = t.router({
  list: procedure
    .meta(
      route("thresholds.list", "GET /thresholds", {
        tag,
        summary: "List all thresholds",
        description: "Newest first.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listThresholdsInput)
    .output(schemas.thresholdPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.thresholds.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("thresholds.get", "GET /thresholds/{id}", {
        tag,
        summary: "Get one threshold",
        description: "As it stands.",
        rest: { version: versionOf },
      }),
    )
    .input(schemas.thresholdIdInput)
    .output(schemas.thresholdSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.thresholds.get(await ctx.caller(), input)),
  create: procedure
    .meta(
      route("thresholds.create", "POST /thresholds", {
        tag,
        summary: "Create a threshold",
        description:
          "Each series of each agent that it is for is compared by itself: beyond the limit for `for_seconds` it begins an alarm, back for `recovery_seconds` it ends it. There are 100 thresholds at most.",
        problems: ["ALREADY_EXISTS", "SELECTOR_INVALID"],
        rest: {
          status: 201,
          location: ({ id }: Threshold) => `/thresholds/${id}`,
          version: versionOf,
        },
      }),
    )
    .input(schemas.createThresholdInput)
    .output(schemas.thresholdSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.thresholds.create(await ctx.caller(), input)),
  update: procedure
    .meta(
      route("thresholds.update", "PUT /thresholds/{id}", {
        tag,
        summary: "Update a threshold",
        description:
          "What is absent stays, and null takes away. Durations begin anew; alarms end where it watches something else from now on, or is not enabled.",
        problems: ["ALREADY_EXISTS", "SELECTOR_INVALID"],
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.updateThresholdInput)
    .output(schemas.thresholdSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.thresholds.update(await ctx.caller(), input, ctx.change()),
    ),
  remove: procedure
    .meta(
      route("thresholds.remove", "DELETE /thresholds/{id}", {
        tag,
        summary: "Delete a threshold",
        description: "Its alarms end.",
        rest: { conditional: true },
      }),
    )
    .input(schemas.thresholdIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.thresholds.remove(await ctx.caller(), input, ctx.change()),
    ),
  alarms: procedure
    .meta(
      route("thresholds.alarms", "GET /alarms", {
        tag,
        summary: "List the alarms that there are now",
        description:
          "Newest first. One that is over is gone; the events `metric.thresholdCrossed` and `metric.thresholdRecovered` tell of it, and `metric.alarmsSettled` in sum where alarms begin and end all the time.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listAlarmsInput)
    .output(schemas.alarmPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.thresholds.alarms(await ctx.caller(), input)),
});
