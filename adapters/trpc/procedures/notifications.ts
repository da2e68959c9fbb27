import { schemas } from "fleetwright";
import { procedure, route, t } from "./builder.ts";

const tag = "Notification";

export const notificationProcedures = t.router({
  list: procedure
    .meta(
      route("notifications.list", "GET /notifications", {
        tag,
        summary: "List notifications for the requesting operator",
        description:
          "Newest first, each with whether and when the caller read it. Events that happened together are one notification. What a maintenance window kept silent is listed, marked as muted.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listNotificationsInput)
    .output(schemas.notificationPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.notifications.list(await ctx.caller(), input)),
  readAll: procedure
    .meta(
      route("notifications.readAll", "POST /notifications/read-all", {
        tag,
        summary: "Mark all notifications as read for the requesting operator",
        description: "Those that there are; for other operators nothing changes.",
      }),
    )
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx }) => ctx.orchestrator.notifications.readAll(await ctx.caller())),
  preferences: procedure
    .meta(
      route("notifications.preferences", "GET /notifications/preferences", {
        tag,
        summary: "Get what the requesting operator has muted",
        description: "Nothing, as long as they muted nothing.",
      }),
    )
    .output(schemas.notificationPreferencesSchema)
    .query(async ({ ctx }) => ctx.orchestrator.notifications.preferences(await ctx.caller())),
  updatePreferences: procedure
    .meta(
      route("notifications.updatePreferences", "PUT /notifications/preferences", {
        tag,
        summary: "Mute kinds of notifications for the requesting operator",
        description:
          "They are listed as muted, and count as unread no more; for other operators, and for channels, nothing changes. What is absent stays.",
      }),
    )
    .input(schemas.updateNotificationPreferencesInput)
    .output(schemas.notificationPreferencesSchema)
    .mutation(async ({ ctx, input }) =>
      ctx.orchestrator.notifications.updatePreferences(await ctx.caller(), input),
    ),
  read: procedure
    .meta(
      route("notifications.read", "POST /notifications/{id}/read", {
        tag,
        summary: "Mark one notification as read for the requesting operator",
        description: "For other operators nothing changes. Again, it stays as it is.",
      }),
    )
    .input(schemas.notificationIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.notifications.read(await ctx.caller(), input)),
});
