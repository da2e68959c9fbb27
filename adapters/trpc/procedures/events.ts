import { tracked } from "@trpc/server";
import { schemas } from "fleetwright";
import type { Tracked } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

export const eventProcedures = t.router({
  stream: procedure
    .meta(
      route("events.stream", "GET /events", {
        tag: "Events",
        summary: "Watch what happens, as it happens",
        description:
          "Server-sent events, each sent after it is on disk. The first item is a `position` or a `reset`: read what you show after it, and no change is missed. Come back with the header `Last-Event-ID`. The schema is that of the data of each event.",
        problems: ["RATE_LIMITED"],
        rest: { streams: schemas.eventStreamItemSchema },
      }),
    )
    .input(schemas.eventStreamInput)
    .subscription(async function* ({ ctx, input, signal }) {
      yield* toTracked(ctx.orchestrator.events.stream(await ctx.caller(), input, signal));
    }),
});

/** Items as tRPC wants them: with the id that a client comes back with. */
export async function* toTracked<Item>(items: AsyncIterable<Tracked<Item>>) {
  for await (const { id, item } of items) yield tracked(id, item);
}
