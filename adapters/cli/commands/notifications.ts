import { Option, type Command } from "commander";
import type { Notification } from "fleetwright";
import type { Run } from "../call.ts";
import { limitOption } from "../options.ts";
import { toLines } from "../text.ts";
import type { Column } from "../text.ts";

interface ListOptions {
  unread?: true;
  minSeverity?: Notification["severity"];
  limit?: number;
}

const columns: readonly Column<Notification>[] = [
  ["ID", ({ id }) => id],
  ["TIME", ({ created_at }) => created_at],
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
    .addOption(
      new Option("--min-severity <severity>", "the least severity").choices(["info", "warning", "critical"]),
    )
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
  notifications
    .command("read <id...>")
    .description("mark notifications as read by you")
    .action(
      run(async (call, ids: string[]) => {
        for (const id of ids) await call.client.notifications.read(id);
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
