import { schemas } from "fleetwright";
import type { MaintenanceWindow } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Maintenance";

export const maintenanceWindowProcedures = t.router({
  list: procedure
    .meta(
      route("maintenanceWindows.list", "GET /maintenance-windows", {
        tag,
        summary: "List all maintenance windows",
        description: "Newest first, those that have ended too, each with when it goes on next.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listWindowsInput)
    .output(schemas.maintenanceWindowPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.maintenanceWindows.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("maintenanceWindows.get", "GET /maintenance-windows/{id}", {
        tag,
        summary: "Get one window",
        description: "With when it goes on next.",
        rest: { version: versionOf },
      }),
    )
    .input(schemas.windowIdInput)
    .output(schemas.maintenanceWindowSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.maintenanceWindows.get(await ctx.caller(), input)),
  create: procedure
    .meta(
      route("maintenanceWindows.create", "POST /maintenance-windows", {
        tag,
        summary: "Create a maintenance window",
        description:
          "Once, or again and again. With the mode `mute` notifications of its agents are silent; with `freeze` nothing is applied or run there either: what somebody asks for is refused, what comes by itself is held until the window ends.",
        problems: ["ALREADY_EXISTS", "SELECTOR_INVALID"],
        rest: {
          status: 201,
          location: ({ id }: MaintenanceWindow) => `/maintenance-windows/${id}`,
          version: versionOf,
        },
      }),
    )
    .input(schemas.createWindowInput)
    .output(schemas.maintenanceWindowSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.maintenanceWindows.create(await ctx.caller(), input),
    ),
  update: procedure
    .meta(
      route("maintenanceWindows.update", "PUT /maintenance-windows/{id}", {
        tag,
        summary: "Update a window",
        description:
          "What is absent stays. An `ends_at` that has passed ends a window that is active; so does `end_occurrence`, after which one with a schedule comes again. What it held goes on.",
        problems: ["ALREADY_EXISTS", "SELECTOR_INVALID", "INVALID_TRANSITION"],
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.updateWindowInput)
    .output(schemas.maintenanceWindowSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.maintenanceWindows.update(await ctx.caller(), input, ctx.change()),
    ),
  remove: procedure
    .meta(
      route("maintenanceWindows.remove", "DELETE /maintenance-windows/{id}", {
        tag,
        summary: "Delete a window",
        description: "What it held goes on.",
        rest: { conditional: true },
      }),
    )
    .input(schemas.windowIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.maintenanceWindows.remove(await ctx.caller(), input, ctx.change()),
    ),
});
