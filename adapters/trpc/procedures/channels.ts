import { schemas } from "fleetwright";
import type { Channel } from "fleetwright";
import { procedure, route, t, versionOf } from "./builder.ts";

const tag = "Notification Channel";

const overPlain =
  "Over plain HTTP from another machine it is refused, unless a trusted proxy says that it came over TLS.";

export const channelProcedures = t.router({
  list: procedure
    .meta(
      route("channels.list", "GET /channels", {
        tag,
        summary: "List notification channels",
        description:
          "Newest first, each with how its last attempt ended. What is secret of them is not told.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listChannelsInput)
    .output(schemas.channelPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.channels.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("channels.get", "GET /channels/{id}", {
        tag,
        summary: "Get one channel",
        description: "With how its last attempt ended. What is secret of it is not told.",
        rest: { version: versionOf },
      }),
    )
    .input(schemas.channelIdInput)
    .output(schemas.channelSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.channels.get(await ctx.caller(), input)),
  create: procedure
    .meta(
      route("channels.create", "POST /channels", {
        tag,
        summary: "Create a channel",
        description: `It tells what happens from now on. Secret fields of its config are encrypted, or are \`secret:NAME\` and read for each message. ${overPlain}`,
        problems: [
          "ALREADY_EXISTS",
          "SELECTOR_INVALID",
          "SECRET_UNAVAILABLE",
          "SECRETS_KEY_MISSING",
          "INSECURE_CONNECTION",
        ],
        rest: { status: 201, location: ({ id }: Channel) => `/channels/${id}`, version: versionOf },
      }),
    )
    .input(schemas.createChannelInput)
    .output(schemas.channelSchema)
    .mutation(async ({ ctx, input }) => {
      ctx.assertPrivate();
      return ctx.orchestrator.channels.create(await ctx.caller(), input);
    }),
  update: procedure
    .meta(
      route("channels.update", "PUT /channels/{id}", {
        tag,
        summary: "Update a channel",
        description: `What is absent stays; a config is given as a whole, and a secret field of it that is \`********\` stays as it is. ${overPlain}`,
        problems: [
          "ALREADY_EXISTS",
          "SELECTOR_INVALID",
          "SECRET_UNAVAILABLE",
          "SECRETS_KEY_MISSING",
          "INSECURE_CONNECTION",
        ],
        rest: { conditional: true, version: versionOf },
      }),
    )
    .input(schemas.updateChannelInput)
    .output(schemas.channelSchema)
    .mutation(async ({ ctx, input }) => {
      ctx.assertPrivate();
      return ctx.orchestrator.channels.update(await ctx.caller(), input, ctx.change());
    }),
  remove: procedure
    .meta(
      route("channels.remove", "DELETE /channels/{id}", {
        tag,
        summary: "Delete a channel",
        description: "What waits to be delivered by it is dropped.",
        rest: { conditional: true },
      }),
    )
    .input(schemas.channelIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.channels.remove(await ctx.caller(), input, ctx.change()),
    ),
  test: procedure
    .meta(
      route("channels.test", "POST /channels/{id}/test", {
        tag,
        summary: "Send a test notification through the channel",
        description:
          "At once, whether the channel is enabled or not. A message that was not delivered is no error of the call: the answer says why.",
        rest: { status: 200 },
      }),
    )
    .input(schemas.channelIdInput)
    .output(schemas.channelTestSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.channels.test(await ctx.caller(), input)),
  deliveries: procedure
    .meta(
      route("channels.deliveries", "GET /channels/{id}/deliveries", {
        tag,
        summary: "List the messages of a channel",
        description:
          "Newest first, with what came of each: those that wait, those that were delivered in the last 7 days, and those that could not be.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listDeliveriesInput)
    .output(schemas.deliveryPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.channels.deliveries(await ctx.caller(), input)),
  redeliver: procedure
    .meta(
      route("channels.redeliver", "POST /channels/{id}/deliveries/{delivery_id}/redeliver", {
        tag,
        summary: "Send a message once more",
        description: "One that could not be delivered, or that was; it is tried for another day.",
        problems: ["INVALID_TRANSITION"],
        rest: { status: 200 },
      }),
    )
    .input(schemas.redeliverInput)
    .output(schemas.deliverySchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.channels.redeliver(await ctx.caller(), input)),
});
