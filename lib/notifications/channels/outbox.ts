/**
 * Delivers what waits for channels, each channel's messages one by one and in order: one that is down holds up nobody but itself.
 *
 *   pending ──it was taken──▶ delivered
 *      ▲ │ └──refused for good, or tried for a day──▶ dead ──somebody asks for it──▶ pending
 *      └─┘ not taken: later, see `backoff.ts`
 *
 * What came of an attempt is on disk before the next begins. A process that is killed in between sends the message again, with the same
 * id. One process does it for all. What waited in a backup that was restored is dead at once: the server that made the backup went on.
 * What comes since waits for an operator's word, as all that a restored server would do by itself: a restore may be a drill.
 */
import { systemCaller } from "../../callers/caller.ts";
import type { Timer } from "../../clock.ts";
import { toTimestamp } from "../../clock.ts";
import type { Context, EventInput } from "../../context.ts";
import { toHex, toUtf8 } from "../../crypto/encoding.ts";
import { isOrchestratorError } from "../../errors.ts";
import { toJsonObject } from "../../json.ts";
import type { StoredDocument, Write } from "../../storage/storage.ts";
import { BackgroundWork } from "../../upkeep/background-work.ts";
import { SoleDuty } from "../../upkeep/sole-duty.ts";
import type { ChannelDocument, ChannelStateDocument, DeliveryDocument } from "../documents.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { Attempt } from "../senders/sender.ts";
import { attempt } from "./attempt.ts";
import { backoffMs, failingAttempts } from "./backoff.ts";
import type { ChannelBook } from "./channel-book.ts";
import type { ChannelConfigs } from "./channel-config.ts";
import { channelFailed } from "./channel-view.ts";
import { wayOf } from "./config-rules.ts";

const collection = "deliveries";
const leastPauseMs = 1_000;
/** Said of what waited in a backup. */
const fromBackup = "it waited in the backup that was restored, and may have been delivered since";

type Waiting = StoredDocument<DeliveryDocument>;

interface Parts {
  book: ChannelBook;
  configs: ChannelConfigs;
  outbound: Outbound;
}

export class Outbox {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #work: BackgroundWork;
  readonly #duty: SoleDuty;
  readonly #stopping = new AbortController();
  /** Channels whose messages are being delivered; true where there is something new meanwhile. */
  readonly #busy = new Map<string, boolean>();
  readonly #timers = new Map<string, Timer>();
  /** The ways that channels had when they were last looked at for an attempt; with another one a message waits no longer. */
  readonly #ways = new Map<string, string>();
  /** What came of attempts that could not be written yet: the message is not sent again for that, as long as it is the same. */
  readonly #unwritten = new Map<string, { revision: number; outcome: Attempt }>();

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#work = new BackgroundWork(context);
    this.#duty = new SoleDuty(context, collection, {
      began: () => this.#wakeAll(),
      isNeeded: () => parts.book.all().length > 0,
    });
    context.feed.follow<DeliveryDocument>(collection, ({ document }) => {
      if (document?.value.status === "pending") this.#wake(document.value.channel_id);
    });
    context.feed.follow<ChannelDocument>("channels", ({ key, document }) => {
      if (document) this.#wake(key);
      if (!document) this.#ways.delete(key);
      void this.#duty.look();
    });
  }

  /** Delivers what waits, and what comes from now on. */
  start(): Promise<void> {
    this.#context.epochs.onResume(() => this.#wakeAll());
    return this.#duty.start();
  }

  /** Ends the attempts that are under way: they are made again after the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#work.stop();
    await this.#duty.stop();
  }

  #wakeAll(): void {
    for (const { id } of this.#parts.book.all()) this.#wake(id);
  }

  #wake(channelId: string): void {
    if (!this.#duty.isMine) return;
    if (this.#busy.has(channelId)) this.#busy.set(channelId, true);
    else this.#work.do(() => this.#deliver(channelId));
  }

  async #deliver(channelId: string): Promise<void> {
    if (this.#busy.has(channelId)) return;
    this.#timers.get(channelId)?.cancel();
    this.#timers.delete(channelId);
    try {
      do {
        this.#busy.set(channelId, false);
        while (await this.#deliverNext(channelId));
      } while (this.#busy.get(channelId) === true);
    } finally {
      this.#busy.delete(channelId);
    }
  }

  /** Tries the first message that waits, where it is due. Returns whether another may be. */
  async #deliverNext(channelId: string): Promise<boolean> {
    const channel = this.#parts.book.get(channelId);
    if (!channel || !this.#duty.isMine || this.#stopping.signal.aborted) return false;
    const way = this.#hashOf(channel);
    if (!channel.enabled) this.#ways.set(channelId, way);
    if (!channel.enabled) return false;
    const query = { index: "by_queue", equals: [channelId, "pending"], limit: 1 };
    const [waiting] = (await this.#context.storage.list<DeliveryDocument>(collection, query)).items;
    if (!waiting) return false;
    const { epochs, fleetTime } = this.#context;
    if (epochs.isBefore(waiting.value)) return this.#giveUp(waiting);
    if (epochs.isPaused) return false;
    const waitMs = waiting.value.next_at - fleetTime.now();
    // Another process, or an earlier life of this one, made the last attempt.
    const last = this.#ways.get(channelId) ?? waiting.value.way ?? way;
    if (waitMs > 0 && last === way) {
      this.#timers.get(channelId)?.cancel();
      this.#timers.set(
        channelId,
        this.#work.after(waitMs, () => this.#deliver(channelId)),
      );
      return false;
    }
    this.#ways.set(channelId, way);
    const unwritten = this.#unwritten.get(waiting.key);
    const isSame = unwritten?.revision === waiting.revision;
    const outcome = isSame ? unwritten.outcome : await this.#try(channel, waiting);
    if (!outcome) return false;
    this.#unwritten.set(waiting.key, { revision: waiting.revision, outcome });
    await this.#write(channel, waiting, outcome);
    this.#unwritten.delete(waiting.key);
    return true;
  }

  #hashOf(channel: Readonly<ChannelDocument>): string {
    return toHex(this.#context.crypto.sha256(toUtf8(wayOf(channel)))).slice(0, 16);
  }

  async #giveUp({ key, revision, value }: Waiting): Promise<true> {
    const given_up_at = toTimestamp(this.#context.clock.now());
    const over = { status: "dead", error: fromBackup, given_up_at } as const;
    const dead = toJsonObject({ ...value, ...over } satisfies DeliveryDocument);
    await this.#commit([{ kind: "put", collection, key, value: dead, expected: revision }], []);
    return true;
  }

  /** Null where it was ended because this process stops. */
  async #try(channel: Readonly<ChannelDocument>, { value }: Waiting): Promise<Attempt | null> {
    const { signal } = this.#stopping;
    const { configs, outbound } = this.#parts;
    const attempting = { context: this.#context, configs, outbound, signal };
    const outcome = await attempt(attempting, channel, value.message);
    return signal.aborted && !outcome.delivered ? null : outcome;
  }

  async #write(
    channel: Readonly<ChannelDocument>,
    { key, revision, value: before }: Waiting,
    { delivered, status_code, error, permanent, retry_after_ms }: Attempt,
  ): Promise<void> {
    const { clock, fleetTime, crypto } = this.#context;
    const at = toTimestamp(clock.now());
    const said = { ...(status_code !== undefined && { status_code }), ...(error !== undefined && { error }) };
    const isChanged = wayOf(this.#parts.book.get(channel.id) ?? channel) !== wayOf(channel);
    const isOver = permanent === true && !isChanged;
    const outcome = { delivered, permanent: isOver, said, pauseMs: retry_after_ms };
    const chance = crypto.randomBytes(1)[0]! / 255;
    const made = { last_attempt_at: at, way: this.#hashOf(channel) };
    const after = { ...afterAttempt(before, outcome, { now: fleetTime.now(), chance }), ...made };
    const wasFailing = this.#parts.book.stateOf(channel.id)?.is_failing ?? false;
    const is_failing = delivered
      ? false
      : wasFailing || after.status === "dead" || after.attempts >= failingAttempts;
    const state: ChannelStateDocument = {
      channel_id: channel.id,
      last_delivery: { at, delivered, ...said },
      is_failing,
    };
    const isNews = is_failing && !wasFailing;
    await this.#commit(
      [
        { kind: "put", collection, key, value: toJsonObject(after), expected: revision },
        { kind: "put", collection: "channel_states", key: channel.id, value: toJsonObject(state) },
      ],
      isNews
        ? [channelFailed(channel, { delivery_id: key, error: error ?? "", attempts: after.attempts })]
        : [],
    );
  }

  /** With the reserve: what was delivered must not be delivered again for want of space. */
  async #commit(writes: Write[], events: EventInput[]): Promise<void> {
    try {
      await this.#context.commitWithReserve(systemCaller, writes, ...events);
    } catch (error) {
      // The message is gone, with its channel.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }
}

/** The delivery after an attempt. */
function afterAttempt(
  { error: _error, status_code: _code, ...before }: Readonly<DeliveryDocument>,
  outcome: {
    delivered: boolean;
    permanent: boolean;
    pauseMs: number | undefined;
    said: Pick<DeliveryDocument, "status_code" | "error">;
  },
  { now, chance }: { now: number; chance: number },
): DeliveryDocument {
  const { delivered, permanent, pauseMs, said } = outcome;
  const attempts = before.attempts + 1;
  const told = { ...before, ...said, attempts };
  if (delivered) return { ...told, status: "delivered" };
  if (permanent || now >= before.until) return { ...told, status: "dead" };
  // A receiver may ask for a longer rest, and for no shorter one.
  const next = now + Math.max(pauseMs ?? 0, backoffMs(attempts, chance));
  // The last attempt is made when the time is over, not before.
  return { ...told, status: "pending", next_at: Math.min(next, Math.max(before.until, now + leastPauseMs)) };
}
