import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

export const discoveryProcedures = t.router({
  broadcast: procedure
    .meta(
      route("discovery.broadcast", "POST /discover", {
        tag: "Status",
        summary: "Call into the local network for agents",
        description:
          "Sends one signed announcement into every network of the server, or to `target`, and waits for answers. Agents that were started with `--discover` and have no orchestrator answer, connect, and then wait to be approved. Once in 5 seconds.",
        problems: ["RATE_LIMITED", "CONFIGURATION_INVALID"],
      }),
    )
    .input(schemas.broadcastInput)
    .output(schemas.discoveredSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.discovery.broadcast(await ctx.caller(), input)),
});
