import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";
import type { Module } from "fleetwright";

const tag = "Modules";

/** 201 for a new module or revision, 200 for content that is there already. */
const uploaded = {
  status: (module: Module & { created: boolean }) => (module.created ? 201 : 200),
  statuses: [200, 201],
  location: (module: Module) => `/modules/${module.name}`,
} as const;

export const moduleProcedures = t.router({
  list: procedure
    .meta(route("modules.list", "GET /modules", { tag, summary: "List modules" }))
    .input(schemas.listModulesInput)
    .output(schemas.modulePageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.modules.list(await ctx.caller(), input)),
  upload: procedure
    .meta(route("modules.upload", "POST /modules", { tag, summary: "Upload a module", rest: uploaded }))
    .input(schemas.uploadModuleInput)
    .output(schemas.uploadedModuleSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.modules.upload(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("modules.get", "GET /modules/{name}", {
        tag,
        summary: "Get a module's details and content",
        rest: { versioned: true },
      }),
    )
    .input(schemas.getModuleInput)
    .output(schemas.moduleDetailSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.modules.get(await ctx.caller(), input)),
  remove: procedure
    .meta(
      route("modules.remove", "DELETE /modules/{name}", {
        tag,
        summary: "Delete a module",
        rest: { conditional: true },
      }),
    )
    .input(schemas.moduleNameInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.modules.remove(await ctx.caller(), input, ctx.change()),
    ),
});
