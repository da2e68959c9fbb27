import type { z } from "zod";
import { answering, toSubject, type Caller } from "../../callers/caller.ts";
import type { Context } from "../../context.ts";
import { requireVersion, type ChangeOptions } from "../../document-version.ts";
import { OrchestratorError } from "../../errors.ts";
import type { Page } from "../../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../../internal/cursor.ts";
import { parseInput } from "../../internal/parse-input.ts";
import { retryOnConflict } from "../../internal/retry-on-conflict.ts";
import { toJsonObject } from "../../json.ts";
import { managedAfter, nameInFolder, refuseTaken } from "../../managed-by.ts";
import type { StoredDocument, Write } from "../../storage/storage.ts";
import type { ChannelDocument, DeliveryDocument } from "../documents.ts";
import type { NotificationService } from "../notification-service.ts";
import {
  channelIdInput,
  createChannelInput,
  listChannelsInput,
  listDeliveriesInput,
  redeliverInput,
  updateChannelInput,
  type Channel,
  type ChannelTest,
  type Delivery,
} from "../schemas.ts";
import { attempt } from "./attempt.ts";
import { auditPlaceFromNowOn } from "./audit-forwarding.ts";
import { triedForMs } from "./backoff.ts";
import { channelChanged, channelSubject, toChannel, toDelivery } from "./channel-view.ts";

const collection = "channels";

type Stored = StoredDocument<ChannelDocument>;

/** Ways to tell people and programs elsewhere what operators are notified of. */
export class Channels {
  readonly #context: Context;
  readonly #service: NotificationService;

  constructor(context: Context, service: NotificationService) {
    this.#context = context;
    this.#service = service;
  }

  /** Lists channels, newest first. What is secret of them is not told. */
  async list(caller: Caller, input: z.input<typeof listChannelsInput> = {}): Promise<Page<Channel>> {
    await this.#context.authorize(caller, "channels.list");
    const { limit = 50, cursor } = parseInput(listChannelsInput, input);
    const page = await this.#context.storage.list<ChannelDocument>(collection, {
      order: "desc",
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor(collection, {}, cursor)) }),
    });
    const items = page.items.map((stored) => this.#view(stored));
    return { items, next_cursor: page.next === null ? null : encodeCursor(collection, {}, page.next) };
  }

  /**
   * Reads a channel, with how its last attempt ended. What is secret of it is not told.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof channelIdInput>): Promise<Channel> {
    await this.#context.authorize(caller, "channels.get");
    return this.#view(await this.#read(parseInput(channelIdInput, input).id));
  }

  /**
   * Makes a channel. It tells what happens from now on: what operators are notified of, or, with the source
   * `audit`, all that is recorded. Nothing is sent for it yet; see {@link test}.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` for a type that there is not, and a config that it refuses; `SELECTOR_INVALID`;
   * `SECRET_UNAVAILABLE` where a secret that the config names can't be read; `SECRETS_KEY_MISSING`; `ALREADY_EXISTS` where another channel is managed
   * under the same label and name.
   */
  async create(caller: Caller, input: z.input<typeof createChannelInput>): Promise<Channel> {
    await this.#context.authorize(caller, "channels.create");
    const given = parseInput(createChannelInput, input);
    const { name, type, config, selector, template, source, managed_by } = given;
    const { events = ["*"], min_severity = "info", enabled = true } = given;
    const id = this.#context.ids.next();
    // Again where a secret that it names was removed, or made, in that moment.
    return retryOnConflict(async () => {
      const { kept, writes } = await this.#service.configs.prepare({ id, type }, config, null);
      const document: ChannelDocument = {
        id,
        name,
        type,
        ...kept,
        events,
        min_severity,
        ...(selector !== undefined && { selector: this.#service.selectors.toKept(selector) }),
        ...(template && { template }),
        enabled,
        ...(source === "audit" && { source }),
        ...(managed_by && { managed_by }),
        created_at: this.#context.timestamp(),
        created_by: toSubject(caller).name,
      };
      if (source === "audit") writes.push(await auditPlaceFromNowOn(this.#context, id));
      return this.#write(caller, null, { document, writes, changed: [] });
    });
  }

  /**
   * Changes a channel; what is absent stays. A config is given as a whole; a secret field of it that is `********` stays, too. What
   * waits to be delivered is delivered as the channel is by then.
   *
   * @throws {OrchestratorError} As {@link create}; `NOT_FOUND`; `PRECONDITION_FAILED`.
   */
  async update(
    caller: Caller,
    input: z.input<typeof updateChannelInput>,
    options?: ChangeOptions,
  ): Promise<Channel> {
    await this.#context.authorize(caller, "channels.update");
    const { id, config, selector, template, managed_by, ...given } = parseInput(updateChannelInput, input);
    const changed = Object.keys(input)
      .filter((field) => field !== "id")
      .sort();
    return retryOnConflict(async () => {
      const stored = await this.#read(id);
      requireVersion(stored, options);
      const { value: before } = stored;
      const prepared = config && (await this.#service.configs.prepare(before, config, before));
      const rest = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const document: ChannelDocument = { ...managedAfter(before, managed_by), ...rest, ...prepared?.kept };
      if (typeof selector === "string") document.selector = this.#service.selectors.toKept(selector);
      if (selector === null) delete document.selector;
      if (template) document.template = template;
      if (template === null) delete document.template;
      return this.#write(caller, stored, { document, writes: prepared?.writes ?? [], changed });
    });
  }

  /**
   * Removes a channel. What waits to be delivered is dropped.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `PRECONDITION_FAILED`.
   */
  async remove(
    caller: Caller,
    input: z.input<typeof channelIdInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#context.authorize(caller, "channels.remove");
    const { id } = parseInput(channelIdInput, input);
    await retryOnConflict(async () => {
      const stored = await this.#read(id);
      requireVersion(stored, options);
      const writes: Write[] = [
        { kind: "delete", collection, key: id, expected: stored.revision },
        { kind: "delete", collection: "channel_states", key: id },
        { kind: "delete", collection: "audit_places", key: id },
        ...this.#service.configs.forget(stored.value),
        ...nameInFolder(collection, stored.value, null),
      ];
      await this.#context.commit(answering(caller), writes, {
        type: "channel.removed",
        target: channelSubject(stored.value),
        summary: `Channel ${stored.value.name} was removed`,
      });
    });
    this.#service.dropDeliveries(id);
  }

  /**
   * Sends a test message through a channel at once, whether it is enabled or not, and tells what came of it.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async test(caller: Caller, input: z.input<typeof channelIdInput>): Promise<ChannelTest> {
    await this.#context.authorize(caller, "channels.test");
    const { value: channel } = await this.#read(parseInput(channelIdInput, input).id);
    const { configs, outbound } = this.#service;
    const attempting = { context: this.#context, configs, outbound, signal: this.#context.leaving.signal };
    const {
      permanent: _,
      retry_after_ms: _rest,
      ...outcome
    } = await attempt(attempting, channel, {
      id: this.#context.ids.next(),
      event_type: "channel.tested",
      severity: "info",
      title: `Test of channel ${channel.name}`,
      body: `${toSubject(caller).name} asked for this message. Nothing has happened.`,
      subject: channelSubject(channel),
      created_at: this.#context.timestamp(),
    });
    const { delivered, error } = outcome;
    await this.#context.commit(answering(caller, outcome), [], {
      type: "channel.tested",
      target: channelSubject(channel),
      summary: `Channel ${channel.name} was tested: ${delivered ? "delivered" : (error ?? "not delivered")}`,
      metadata: { delivered, ...(error !== undefined && { error }) },
    });
    return outcome;
  }

  /**
   * Lists the messages of a channel, newest first, those that were delivered in the last days too.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async deliveries(caller: Caller, input: z.input<typeof listDeliveriesInput>): Promise<Page<Delivery>> {
    await this.#context.authorize(caller, "channels.deliveries");
    const { id, status, limit = 50, cursor } = parseInput(listDeliveriesInput, input);
    await this.#read(id);
    const filter = { id, ...(status !== undefined && { status }) };
    const order =
      status === undefined
        ? { index: "by_channel", equals: [id] }
        : { index: "by_queue", equals: [id, status] };
    const page = await this.#context.storage.list<DeliveryDocument>("deliveries", {
      ...order,
      order: "desc",
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor("deliveries", filter, cursor)) }),
    });
    const items = page.items.map(({ value }) => toDelivery(this.#context, value));
    return { items, next_cursor: page.next === null ? null : encodeCursor("deliveries", filter, page.next) };
  }

  /**
   * Sends a message once more that is dead or was delivered: it takes its place among those that wait, by its age.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it waits.
   */
  async redeliver(caller: Caller, input: z.input<typeof redeliverInput>): Promise<Delivery> {
    await this.#context.authorize(caller, "channels.redeliver");
    const { id, delivery_id } = parseInput(redeliverInput, input);
    const { value: channel } = await this.#read(id);
    return retryOnConflict(async () => {
      const stored = await this.#context.storage.get<DeliveryDocument>("deliveries", delivery_id);
      if (stored?.value.channel_id !== id)
        throw new OrchestratorError("NOT_FOUND", {
          message: `There is no delivery ${delivery_id} of the channel.`,
        });
      if (stored.value.status === "pending")
        throw new OrchestratorError("INVALID_TRANSITION", { message: "The message waits to be delivered." });
      const now = this.#context.fleetTime.now();
      const { given_up_at: _, ...over } = stored.value;
      const value: DeliveryDocument = {
        ...over,
        ...this.#context.epochs.mark,
        status: "pending",
        attempts: 0,
        next_at: now,
        until: now + triedForMs,
      };
      const answer = toDelivery(this.#context, value);
      const put = { collection: "deliveries", key: delivery_id, value: toJsonObject(value) };
      await this.#context.commit(
        answering(caller, answer),
        [{ kind: "put", ...put, expected: stored.revision }],
        {
          type: "channel.redelivered",
          target: channelSubject(channel),
          summary: `A message of channel ${channel.name} is delivered once more`,
          metadata: { delivery_id },
        },
      );
      return answer;
    });
  }

  async #write(
    caller: Caller,
    before: Stored | null,
    { document, writes, changed }: { document: ChannelDocument; writes: Write[]; changed: string[] },
  ): Promise<Channel> {
    const expected = before?.revision ?? 0;
    const answer = this.#view({ value: document, revision: expected + 1 });
    const put: Write = { kind: "put", collection, key: document.id, value: toJsonObject(document), expected };
    const event = channelChanged(document, before && changed);
    const named = nameInFolder(collection, before?.value ?? null, document);
    await refuseTaken(this.#context.commit(answering(caller, answer), [put, ...writes, ...named], event));
    return answer;
  }

  async #read(id: string): Promise<Stored> {
    const stored = await this.#context.storage.get<ChannelDocument>(collection, id);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no channel ${id}.` });
    return stored;
  }

  #view(stored: Pick<Stored, "value" | "revision">): Channel {
    const { configs, book } = this.#service;
    return toChannel(stored, {
      config: configs.masked(stored.value),
      state: book.stateOf(stored.value.id),
      place: book.placeOf(stored.value.id),
    });
  }
}
