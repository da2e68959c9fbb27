import type { z } from "zod";
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { KeyedQueue } from "../internal/keyed-queue.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { managedAfter, nameInFolder, refuseTaken } from "../managed-by.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { listAlarms } from "./alarm-list.ts";
import type { ThresholdDocument } from "./documents.ts";
import {
  createThresholdInput,
  listAlarmsInput,
  listThresholdsInput,
  thresholdIdInput,
  updateThresholdInput,
  type Alarm,
  type Threshold,
} from "./schemas.ts";
import { requireRecovery } from "./threshold-rules.ts";
import type { ThresholdService } from "./threshold-service.ts";
import { thresholdFacts, thresholdSubject, toThreshold } from "./threshold-view.ts";

const collection = "thresholds";

type Stored = StoredDocument<ThresholdDocument>;

/** Limits of what machines measure, and the alarms where one is crossed. */
export class Thresholds {
  readonly #context: Context;
  readonly #service: ThresholdService;
  /** One change of the list of all at a time, so that none has to be made again for the others of this process. */
  readonly #listing = new KeyedQueue();

  constructor(context: Context, service: ThresholdService) {
    this.#context = context;
    this.#service = service;
  }

  /** Lists thresholds, newest first. */
  async list(caller: Caller, input: z.input<typeof listThresholdsInput> = {}): Promise<Page<Threshold>> {
    await this.#context.authorize(caller, "thresholds.list");
    const { limit = 50, cursor } = parseInput(listThresholdsInput, input);
    const page = await this.#context.storage.list<ThresholdDocument>(collection, {
      order: "desc",
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor(collection, {}, cursor)) }),
    });
    const next_cursor = page.next === null ? null : encodeCursor(collection, {}, page.next);
    return { items: page.items.map(toThreshold), next_cursor };
  }

  /**
   * Reads a threshold.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof thresholdIdInput>): Promise<Threshold> {
    await this.#context.authorize(caller, "thresholds.get");
    return toThreshold(await this.#service.read(parseInput(thresholdIdInput, input).id));
  }

  /**
   * Sets a threshold, 100 in all at most. Each series of each agent that it is for is compared by itself: beyond the limit for
   * `for_seconds` it begins an alarm, back for `recovery_seconds` it ends it.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED`, also where `recovery_value` is beyond the limit; `SELECTOR_INVALID`; `ALREADY_EXISTS` where
   * another threshold is managed under the same label and name.
   */
  async create(caller: Caller, input: z.input<typeof createThresholdInput>): Promise<Threshold> {
    await this.#context.authorize(caller, "thresholds.create");
    const given = parseInput(createThresholdInput, input);
    const { percent_of, recovery_value, selector, managed_by } = given;
    const now = this.#context.timestamp();
    const document: ThresholdDocument = {
      id: this.#context.ids.next(),
      name: given.name,
      metric: given.metric,
      ...(percent_of !== undefined && { percent_of }),
      condition: given.condition,
      value: given.value,
      ...(recovery_value !== undefined && { recovery_value }),
      for_seconds: given.for_seconds ?? 300,
      recovery_seconds: given.recovery_seconds ?? 60,
      severity: given.severity ?? "warning",
      ...(selector !== undefined && { selector: this.#service.selectors.toKept(selector) }),
      enabled: given.enabled ?? true,
      ...(managed_by && { managed_by }),
      created_by: toSubject(caller).name,
      created_at: now,
      changed_at: now,
    };
    const create = async (): Promise<Threshold> => {
      const listed = await this.#service.list((ids) => [...ids, document.id]);
      return this.#write(caller, null, { document, also: [listed] });
    };
    return this.#listing.do("all", () => retryOnConflict(create));
  }

  /**
   * Changes a threshold; what is absent stays, and null takes away. Durations begin anew; alarms that it would not begin any more, because
   * it watches something else or is not enabled, end.
   *
   * @throws {OrchestratorError} As {@link create}; `NOT_FOUND`; `PRECONDITION_FAILED`.
   */
  async update(
    caller: Caller,
    input: z.input<typeof updateThresholdInput>,
    options?: ChangeOptions,
  ): Promise<Threshold> {
    await this.#context.authorize(caller, "thresholds.update");
    const parsed = parseInput(updateThresholdInput, input);
    const { id, selector, percent_of, recovery_value, managed_by, ...given } = parsed;
    return retryOnConflict(async () => {
      const stored = await this.#service.read(id);
      requireVersion(stored, options);
      const document: ThresholdDocument = {
        ...managedAfter(stored.value, managed_by),
        ...(toJsonObject(given) as Partial<ThresholdDocument>),
        ...(typeof selector === "string" && { selector: this.#service.selectors.toKept(selector) }),
        ...(typeof percent_of === "string" && { percent_of }),
        ...(typeof recovery_value === "number" && { recovery_value }),
        changed_at: this.#context.timestamp(),
      };
      if (selector === null) delete document.selector;
      if (percent_of === null) delete document.percent_of;
      if (recovery_value === null) delete document.recovery_value;
      return this.#write(caller, stored, { document, also: [] });
    });
  }

  /**
   * Removes a threshold, and ends its alarms.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `PRECONDITION_FAILED`.
   */
  async remove(
    caller: Caller,
    input: z.input<typeof thresholdIdInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#context.authorize(caller, "thresholds.remove");
    const { id } = parseInput(thresholdIdInput, input);
    const remove = async (): Promise<void> => {
      const stored = await this.#service.read(id);
      requireVersion(stored, options);
      const write: Write = { kind: "delete", collection, key: id, expected: stored.revision };
      const event = changeEvent("metric.thresholdRemoved", stored.value);
      const unlisted = await this.#service.list((ids) => ids.filter((each) => each !== id));
      const named = nameInFolder(collection, stored.value, null);
      await this.#context.commit(answering(caller), [write, unlisted, ...named], event);
    };
    await this.#listing.do("all", () => retryOnConflict(remove));
  }

  /** Lists the alarms that there are now, newest first. One that is over is gone; events and notifications tell of it. */
  async alarms(caller: Caller, input: z.input<typeof listAlarmsInput> = {}): Promise<Page<Alarm>> {
    await this.#context.authorize(caller, "thresholds.alarms");
    return listAlarms(this.#context.storage, parseInput(listAlarmsInput, input));
  }

  async #write(
    caller: Caller,
    before: Stored | null,
    { document, also }: { document: ThresholdDocument; also: Write[] },
  ): Promise<Threshold> {
    requireRecovery(document);
    const expected = before?.revision ?? 0;
    const answer = toThreshold({ value: document, revision: expected + 1 });
    const value = toJsonObject(document);
    const write: Write = { kind: "put", collection, key: document.id, value, expected };
    const event = changeEvent(before ? "metric.thresholdUpdated" : "metric.thresholdCreated", document);
    const named = nameInFolder(collection, before?.value ?? null, document);
    await refuseTaken(this.#context.commit(answering(caller, answer), [write, ...also, ...named], event));
    return answer;
  }
}

function changeEvent(
  type: "metric.thresholdCreated" | "metric.thresholdUpdated" | "metric.thresholdRemoved",
  document: Readonly<ThresholdDocument>,
): EventInput {
  return {
    type,
    target: thresholdSubject(document),
    summary: `The threshold "${document.name}" was ${type.slice("metric.threshold".length).toLowerCase()}`,
    metadata: thresholdFacts(document),
  };
}
