import { schemas } from "fleetwright";
import type { Module } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Modules";

/** A module is changed by a new revision alone. */
const revisionOf = ({ revision }: Module): number => revision;

/** 201 for a new module or revision, 200 for content that is there already. */
const uploaded = {
  status: (module: Module & { created: boolean }) => (module.created ? 201 : 200),
  statuses: [200, 201],
  location: (module: Module) => `/modules/${module.name}`,
  version: revisionOf,
} as const;

export const moduleProcedures = t.router({
  list: procedure
    .meta(
      route("modules.list", "GET /modules", {
        tag,
        summary: "List modules",
        description: "Modules by name, each in its newest revision, without the content.",
      }),
    )
    .input(schemas.listModulesInput)
    .output(schemas.modulePageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.modules.list(await ctx.caller(), input)),
  upload: procedure
    .meta(
      route("modules.upload", "POST /modules", {
        tag,
        summary: "Upload a module",
        description:
          'A new name makes revision 1, a known one the next revision, and content that is there already changes nothing: 200 with the present revision. `If-Match: "0"` uploads only a module that is not there yet. Every fault of the YAML is told with line and column, and nothing is stored then.',
        problems: ["MODULE_INVALID", "RESOURCE_CONFLICT"],
        rest: { ...uploaded, conditional: true },
      }),
    )
    .input(schemas.uploadModuleInput)
    .output(schemas.uploadedModuleSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.modules.upload(await ctx.caller(), input, ctx.change()),
    ),
  get: procedure
    .meta(
      route("modules.get", "GET /modules/{name}", {
        tag,
        summary: "Get a module's details and content",
        description: "With the YAML as it was uploaded. `revision` reads an older one.",
        rest: { version: revisionOf },
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
        description:
          "Only a module that nothing uses: no assignment, no rollout, and no module that requires it. `details.used_by` names those that do.",
        problems: ["IN_USE"],
        rest: { conditional: true },
      }),
    )
    .input(schemas.moduleNameInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.modules.remove(await ctx.caller(), input, ctx.change()),
    ),
});
