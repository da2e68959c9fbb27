import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

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
        rest: { produces: mediaType },
      }),
    )
    .output(schemas.backupSchema)
    .query(async ({ ctx }) => {
      const pieces = await ctx.orchestrator.backups.create(await ctx.caller());
      return new Response(toStream(pieces), { headers: { "content-type": mediaType } });
    }),
});

/** Nothing is read before somebody reads the stream; whoever goes away early ends the reading. */
function toStream(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await iterator.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}
