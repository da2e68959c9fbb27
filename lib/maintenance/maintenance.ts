import type { z } from "zod";
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { managedAfter, nameInFolder, refuseTaken } from "../managed-by.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { WindowDocument } from "./documents.ts";
import type { MaintenanceService } from "./maintenance-service.ts";
import {
  createWindowInput,
  listWindowsInput,
  updateWindowInput,
  windowIdInput,
  type MaintenanceWindow,
} from "./schemas.ts";
import { endGiven, settleTiming } from "./timing.ts";
import { toWindow, windowFacts, windowSubject } from "./window-view.ts";

const collection = "maintenance_windows";

type Stored = StoredDocument<WindowDocument>;

/** Times in which agents are left alone or are silent: once, or again and again. */
export class MaintenanceWindows {
  readonly #context: Context;
  readonly #service: MaintenanceService;

  constructor(context: Context, service: MaintenanceService) {
    this.#context = context;
    this.#service = service;
  }

  /** Lists maintenance windows, those that have ended too, newest first. */
  async list(caller: Caller, input: z.input<typeof listWindowsInput> = {}): Promise<Page<MaintenanceWindow>> {
    await this.#context.authorize(caller, "maintenanceWindows.list");
    const { limit = 50, cursor } = parseInput(listWindowsInput, input);
    const page = await this.#context.storage.list<WindowDocument>(collection, {
      order: "desc",
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor(collection, {}, cursor)) }),
    });
    const items = page.items.map((stored) => this.#view(stored));
    return { items, next_cursor: page.next === null ? null : encodeCursor(collection, {}, page.next) };
  }

  /**
   * Reads a maintenance window, with when it goes on next.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof windowIdInput>): Promise<MaintenanceWindow> {
    await this.#context.authorize(caller, "maintenanceWindows.get");
    return this.#view(await this.#service.read(parseInput(windowIdInput, input).id));
  }

  /**
   * Sets a maintenance window. Which agents it is for is looked up whenever it matters: one that the selector comes to match while the
   * window is active is in it from then on.
   *
   * What runs on a machine when a freeze begins goes on there.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` where it ends before it begins or has ended already, and for a schedule that can't be
   * read or never comes in that time; `SELECTOR_INVALID`; `ALREADY_EXISTS` where another window is managed under the same label and name.
   */
  async create(caller: Caller, input: z.input<typeof createWindowInput>): Promise<MaintenanceWindow> {
    await this.#context.authorize(caller, "maintenanceWindows.create");
    const parsed = parseInput(createWindowInput, input);
    const { selector, starts_at, schedule, reason, mode, managed_by } = parsed;
    const nowMs = this.#context.clock.now();
    const ends_at = endGiven(parsed, nowMs);
    const document: WindowDocument = {
      id: this.#context.ids.next(),
      reason,
      ...(selector !== undefined && { selector: this.#service.selectors.toKept(selector) }),
      starts_at: starts_at === undefined ? toTimestamp(nowMs) : toUtc(starts_at),
      ...(ends_at !== undefined && { ends_at: toUtc(ends_at) }),
      ...(schedule && { schedule }),
      mode,
      until: 0,
      ...(managed_by && { managed_by }),
      created_by: toSubject(caller).name,
      created_at: toTimestamp(nowMs),
    };
    const given = { before: null, nowMs, endOccurrence: false };
    return this.#write(caller, null, settleTiming(this.#context.cron, document, given));
  }

  /**
   * Changes a maintenance window; what is absent stays. An `ends_at` that has passed ends a window that is active now, and so does
   * `end_occurrence`, after which one with a schedule comes again.
   *
   * @throws {OrchestratorError} As {@link create}, but it may have ended; `NOT_FOUND`; `PRECONDITION_FAILED`; `INVALID_TRANSITION` for
   * `end_occurrence` where none goes on.
   */
  async update(
    caller: Caller,
    input: z.input<typeof updateWindowInput>,
    options?: ChangeOptions,
  ): Promise<MaintenanceWindow> {
    await this.#context.authorize(caller, "maintenanceWindows.update");
    const parsed = parseInput(updateWindowInput, input);
    const { id, selector, starts_at, schedule, end_occurrence, reason, mode } = parsed;
    return retryOnConflict(async () => {
      const stored = await this.#service.read(id);
      requireVersion(stored, options);
      const { cron, clock } = this.#context;
      const nowMs = clock.now();
      const ends_at = endGiven(parsed, nowMs);
      const document: WindowDocument = {
        ...managedAfter(stored.value, parsed.managed_by),
        ...(reason !== undefined && { reason }),
        ...(mode !== undefined && { mode }),
        ...(typeof selector === "string" && { selector: this.#service.selectors.toKept(selector) }),
        ...(starts_at !== undefined && { starts_at: toUtc(starts_at) }),
        ...(typeof ends_at === "string" && { ends_at: toUtc(ends_at) }),
        ...(schedule && { schedule }),
      };
      if (selector === null) delete document.selector;
      if (ends_at === null) delete document.ends_at;
      if (schedule === null) delete document.schedule;
      const given = { before: stored.value, nowMs, endOccurrence: end_occurrence === true };
      return this.#write(caller, stored, settleTiming(cron, document, given));
    });
  }

  /**
   * Removes a maintenance window. What it held goes on.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `PRECONDITION_FAILED`.
   */
  async remove(caller: Caller, input: z.input<typeof windowIdInput>, options?: ChangeOptions): Promise<void> {
    await this.#context.authorize(caller, "maintenanceWindows.remove");
    const { id } = parseInput(windowIdInput, input);
    await retryOnConflict(async () => {
      const stored = await this.#service.read(id);
      requireVersion(stored, options);
      const write: Write = { kind: "delete", collection, key: id, expected: stored.revision };
      await this.#context.commit(
        answering(caller),
        [write, ...nameInFolder(collection, stored.value, null)],
        this.#event("maintenance.removed", stored.value),
      );
    });
  }

  async #write(caller: Caller, before: Stored | null, document: WindowDocument): Promise<MaintenanceWindow> {
    const expected = before?.revision ?? 0;
    const answer = this.#view({ value: document, revision: expected + 1 });
    const value = toJsonObject(document);
    const write: Write = { kind: "put", collection, key: document.id, value, expected };
    const event = this.#event(before ? "maintenance.updated" : "maintenance.created", document);
    const writes = [write, ...nameInFolder(collection, before?.value ?? null, document)];
    await refuseTaken(this.#context.commit(answering(caller, answer), writes, event));
    return answer;
  }

  #event(
    type: "maintenance.created" | "maintenance.updated" | "maintenance.removed",
    document: Readonly<WindowDocument>,
  ): EventInput {
    const { starts_at, ends_at, schedule, reason, occurrence_ended_at } = document;
    return {
      type,
      target: windowSubject(document),
      summary: `The maintenance window "${reason}" was ${type.slice("maintenance.".length)}`,
      metadata: {
        ...windowFacts(document),
        starts_at,
        ends_at: ends_at ?? null,
        ...(schedule && { schedule }),
        ...(occurrence_ended_at !== undefined && { occurrence_ended_at }),
      },
    };
  }

  #view(stored: Pick<Stored, "value" | "revision">): MaintenanceWindow {
    return toWindow(stored, { cron: this.#context.cron, nowMs: this.#context.clock.now() });
  }
}

function toUtc(timestamp: string): string {
  return toTimestamp(Date.parse(timestamp));
}
