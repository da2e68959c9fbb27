import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";
import { toByteStream } from "./byte-stream.ts";

const mediaType = "application/octet-stream";

/** Over REST alone: tRPC has no form for a stream of bytes. */
export const backupProcedures = t.router({
  create: procedure
    .meta(
      route("backups.create", "GET /backup", {
        tag: "Backup",
        summary: "Download everything as one file, the keys included",
        description:
          "A file for `fleetwright restore`, taken without a pause. It holds the orchestrator's private key: keep it as you keep that.",
        problems: ["NOT_FOUND"],
        rest: { produces: [mediaType] },
      }),
    )
    .output(schemas.backupSchema)
    .query(async ({ ctx }) => {
      const pieces = await ctx.orchestrator.backups.create(await ctx.caller());
      return new Response(toByteStream(pieces), { headers: { "content-type": mediaType } });
    }),
});
