import type { z } from "zod";
import { answering, toSubject, type Caller } from "../../callers/caller.ts";
import type { Context, EventInput } from "../../context.ts";
import { OrchestratorError } from "../../errors.ts";
import { decodeCursor, encodeCursor } from "../../internal/cursor.ts";
import { parseInput } from "../../internal/parse-input.ts";
import { retryOnConflict } from "../../internal/retry-on-conflict.ts";
import { toJsonObject } from "../../json.ts";
import type { StoredDocument, Write } from "../../storage/storage.ts";
import type { NotificationDocument, ReadDocument, ReaderDocument } from "../documents.ts";
import type { NotificationService } from "../notification-service.ts";
import {
  listNotificationsInput,
  notificationIdInput,
  updateNotificationPreferencesInput,
  type Notification,
  type NotificationPage,
  type NotificationPreferences,
} from "../schemas.ts";

/** Times at which somebody read all that are told apart; of what was read before the first of them that one is told. */
const mostMarks = 100;

const collection = "notification_readers";
const nothingMuted: NotificationPreferences = { muted_events: [], min_severity: "info" };

/** What operators are told by themselves. Everybody has the same notifications, and reads them for themselves. */
export class Notifications {
  readonly #context: Context;
  readonly #service: NotificationService;

  constructor(context: Context, service: NotificationService) {
    this.#context = context;
    this.#service = service;
  }

  /** Lists notifications, newest first, with how many the caller has not read. */
  async list(caller: Caller, input: z.input<typeof listNotificationsInput> = {}): Promise<NotificationPage> {
    await this.#context.authorize(caller, "notifications.list");
    const {
      limit = 50,
      cursor,
      unread = false,
      min_severity = "info",
    } = parseInput(listNotificationsInput, input);
    const { id: reader } = toSubject(caller);
    const { index } = this.#service;
    const bound = { unread, min_severity };
    const before = cursor === undefined ? null : String(decodeCursor("notifications", bound, cursor));
    const wanted = { unread, severity: min_severity };
    const ids = index.ids(reader, wanted, { before, most: limit + 1 });
    const page = ids.slice(0, limit);
    const stored = await this.#context.storage.getMany<NotificationDocument>("notifications", page);
    const items = stored.flatMap((document) => (document ? [this.#view(reader, document.value)] : []));
    const next_cursor = ids.length > limit ? encodeCursor("notifications", bound, page.at(-1)!) : null;
    return { items, next_cursor, unread: index.unread(reader) };
  }

  /**
   * Marks a notification as read by the caller, and by nobody else. Told again, nothing changes.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async read(caller: Caller, input: z.input<typeof notificationIdInput>): Promise<void> {
    await this.#context.authorize(caller, "notifications.read");
    const { id } = parseInput(notificationIdInput, input);
    const { id: reader } = toSubject(caller);
    if ((await this.#context.storage.get("notifications", id)) === null)
      throw new OrchestratorError("NOT_FOUND", { message: `There is no notification ${id}.` });
    if (this.#service.index.readAt(reader, id) !== null) return;
    const value: ReadDocument = {
      operator_id: reader,
      notification_id: id,
      read_at: this.#context.timestamp(),
    };
    const key = `${reader}:${id}`;
    await retryOnConflict(async () => {
      if ((await this.#context.storage.get("notification_reads", key)) !== null) return;
      await this.#context.commit(answering(caller), [
        { kind: "put", collection: "notification_reads", key, value: toJsonObject(value), expected: 0 },
      ]);
    });
  }

  /** Marks all notifications there are as read by the caller. */
  async readAll(caller: Caller): Promise<void> {
    await this.#context.authorize(caller, "notifications.readAll");
    const { id: reader } = toSubject(caller);
    const { newest } = this.#service.index;
    // Also where all that is left is muted: it must not count again once it is muted no longer.
    if (newest === null) return;
    await retryOnConflict(async () => {
      const stored = await this.#context.storage.get<ReaderDocument>(collection, reader);
      const before = stored?.value.through ?? [];
      if ((before.at(-1)?.id ?? "") >= newest) return;
      const through = [...before, { id: newest, read_at: this.#context.timestamp() }].slice(-mostMarks);
      await this.#context.commit(answering(caller), [toWrite(stored, { operator_id: reader, through })]);
    });
  }

  /** Reads what the caller has muted. */
  async preferences(caller: Caller): Promise<NotificationPreferences> {
    await this.#context.authorize(caller, "notifications.preferences");
    const { id: reader } = toSubject(caller);
    const stored = await this.#context.storage.get<ReaderDocument>(collection, reader);
    return stored?.value.preferences ?? nothingMuted;
  }

  /**
   * Mutes kinds of notifications for the caller, and for nobody else: they are listed as muted, and count as unread no more. What is muted no
   * longer counts again, unless it was read. Channels tell it all the same. Where nothing changes, nothing is written or told.
   */
  async updatePreferences(
    caller: Caller,
    input: z.input<typeof updateNotificationPreferencesInput>,
  ): Promise<NotificationPreferences> {
    await this.#context.authorize(caller, "notifications.updatePreferences");
    const given = parseInput(updateNotificationPreferencesInput, input);
    const subject = toSubject(caller);
    return retryOnConflict(async () => {
      const stored = await this.#context.storage.get<ReaderDocument>(collection, subject.id);
      const before = stored?.value.preferences ?? nothingMuted;
      const preferences = {
        muted_events: [...new Set(given.muted_events ?? before.muted_events)],
        min_severity: given.min_severity ?? before.min_severity,
      };
      if (isSame(preferences, before)) return before;
      const through = stored?.value.through ?? [];
      const write = toWrite(stored, { operator_id: subject.id, through, preferences });
      const event: EventInput = {
        type: "operator.notificationsMuted",
        target: subject,
        summary: `${subject.name} chose what of the notifications is muted for themselves`,
        metadata: preferences,
      };
      await this.#context.commit(answering(caller, preferences), [write], event);
      return preferences;
    });
  }

  #view(reader: string, notification: Readonly<NotificationDocument>): Notification {
    const { index } = this.#service;
    const muted = notification.muted || index.isMuted(reader, notification);
    return { ...notification, read_at: index.readAt(reader, notification.id), muted };
  }
}

/** Whether the same is muted, in whatever order it is named. */
function isSame(one: NotificationPreferences, other: NotificationPreferences): boolean {
  if (one.min_severity !== other.min_severity) return false;
  const [ones, others] = [one.muted_events, other.muted_events];
  return ones.length === others.length && ones.every((event) => others.includes(event));
}

/** With what else there is of the reader. */
function toWrite(stored: StoredDocument<ReaderDocument> | null, change: ReaderDocument): Write {
  const value = toJsonObject({ ...stored?.value, ...change });
  const { operator_id: key } = change;
  return { kind: "put", collection, key, value, expected: stored?.revision ?? 0 };
}
