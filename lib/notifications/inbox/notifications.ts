import type { z } from "zod";
import { answering, toSubject, type Caller } from "../../callers/caller.ts";
import type { Context } from "../../context.ts";
import { OrchestratorError } from "../../errors.ts";
import { decodeCursor, encodeCursor } from "../../internal/cursor.ts";
import { parseInput } from "../../internal/parse-input.ts";
import { retryOnConflict } from "../../internal/retry-on-conflict.ts";
import { toJsonObject } from "../../json.ts";
import type { Write } from "../../storage/storage.ts";
import type { NotificationDocument, ReadDocument, ReaderDocument } from "../documents.ts";
import type { NotificationService } from "../notification-service.ts";
import {
  listNotificationsInput,
  notificationIdInput,
  type Notification,
  type NotificationPage,
} from "../schemas.ts";

/** Times at which somebody read all that are told apart; of what was read before the first of them that one is told. */
const mostMarks = 100;

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
    if (newest === null || this.#service.index.unread(reader) === 0) return;
    await retryOnConflict(async () => {
      const collection = "notification_readers";
      const stored = await this.#context.storage.get<ReaderDocument>(collection, reader);
      const before = stored?.value.through ?? [];
      if ((before.at(-1)?.id ?? "") >= newest) return;
      const through = [...before, { id: newest, read_at: this.#context.timestamp() }].slice(-mostMarks);
      const value = toJsonObject({ operator_id: reader, through } satisfies ReaderDocument);
      const put: Write = { kind: "put", collection, key: reader, value, expected: stored?.revision ?? 0 };
      await this.#context.commit(answering(caller), [put]);
    });
  }

  #view(reader: string, notification: Readonly<NotificationDocument>): Notification {
    return { ...notification, read_at: this.#service.index.readAt(reader, notification.id) };
  }
}
