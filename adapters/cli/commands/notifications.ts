import { Option, type Command } from "commander";
import type { Notification, NotificationPreferences } from "fleetwright";
import type { CommandCall, Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { findListed } from "../find-id.ts";
import { limitOption } from "../options.ts";
import { idColumn, timeColumn, toFacts, toLines } from "../text.ts";
import type { Column } from "../text.ts";

interface ListOptions {
  unread?: true;
  minSeverity?: Notification["severity"];
  limit?: number;
}

const columns: readonly Column<Notification>[] = [
  ["ID", ({ id }) => id, idColumn],
  ["TIME", ({ created_at }) => created_at, timeColumn],
  ["SEVERITY", ({ severity }) => severity],
  ["READ", ({ read_at, muted }) => (muted ? "muted" : read_at === null ? "no" : "yes")],
  ["TITLE", ({ title }) => title],
];

/** `fleetwright notifications ...` */
export function addNotificationsCommands(program: Command, run: Run): void {
  const notifications = program
    .command("notifications")
    .alias("notification")
    .description("what you are told by itself, and what you have read of it");
  notifications
    .command("list")
    .description("list notifications, newest first")
    .option("--unread", "only what you have not read")
    .addOption(severityOption("--min-severity <severity>", "the least severity"))
    .option(...limitOption)
    .action(
      run((call, { unread, minSeverity, limit }: ListOptions) => {
        const filter = {
          ...(unread && { unread }),
          ...(minSeverity !== undefined && { min_severity: minSeverity }),
          ...(limit !== undefined && { limit }),
        };
        return call.showList(call.client.notifications.list, filter, columns);
      }),
    );
  addMutes(notifications, run);
  notifications
    .command("read <id...>")
    .description("mark notifications as read by you")
    .action(
      run(async (call, ids: string[]) => {
        const { list } = call.client.notifications;
        for (const typed of ids) {
          const aboutOf = ({ title }: Notification): string => title;
          await call.client.notifications.read(await findListed("notification", typed, { list, aboutOf }));
        }
        call.show(null, () => toLines([`${ids.length} marked as read.`]));
      }),
    );
  notifications
    .command("read-all")
    .description("mark all notifications as read by you")
    .action(
      run(async (call) => {
        await call.client.notifications.readAll();
        call.show(null, () => toLines(["All are marked as read."]));
      }),
    );
}

function addMutes(notifications: Command, run: Run): void {
  notifications
    .command("mute [event...]")
    .description("mute kinds of notifications for you, e.g. agent.online or drift.*")
    .addOption(severityOption("--below <severity>", "and what is less severe"))
    .action(
      run(async (call, events: string[], { below }: { below?: Notification["severity"] }) => {
        if (events.length === 0 && below === undefined)
          throw new UsageError("Say what to mute: kinds of notifications, or --below.");
        const { muted_events } = await call.client.notifications.preferences();
        const change = {
          muted_events: [...new Set([...muted_events, ...events])],
          ...(below !== undefined && { min_severity: below }),
        };
        showMuted(call, await call.client.notifications.updatePreferences(change));
      }),
    );
  notifications
    .command("unmute [event...]")
    .description("take a mute away; without an event all of them")
    .action(
      run(async (call, events: string[]) => {
        const before = await call.client.notifications.preferences();
        const muted_events = before.muted_events.filter((event) => !events.includes(event));
        const change =
          events.length > 0 ? { muted_events } : { muted_events: [], min_severity: "info" as const };
        showMuted(call, await call.client.notifications.updatePreferences(change));
      }),
    );
  notifications
    .command("muted")
    .description("show what you have muted")
    .action(run(async (call) => showMuted(call, await call.client.notifications.preferences())));
}

function severityOption(flags: string, text: string): Option {
  return new Option(flags, text).choices(["info", "warning", "critical"]);
}

function showMuted(call: CommandCall, preferences: NotificationPreferences): void {
  const { muted_events, min_severity } = preferences;
  call.show(
    preferences,
    () =>
      toFacts([
        ["Muted", muted_events.length > 0 ? muted_events.join(", ") : "nothing"],
        ["Below", min_severity === "info" ? "nothing" : `all below ${min_severity}`],
      ]),
    muted_events.map((name) => ({ name })),
  );
}
