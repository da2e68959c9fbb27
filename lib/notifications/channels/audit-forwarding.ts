/**
 * Forwards the audit log to the channels whose source it is: every event that their filters let pass, one by one and in order. Nothing is
 * put into the outbox: the log itself is what waits, and each channel has a place in it.
 *
 *   audit log ── … ──▶ [place] ── next event ──taken──▶ the place moves on
 *                                     └──not taken──▶ the same again, later, for as long as it takes
 *
 * The place is on disk after 100 events, a second, and whenever nothing is left: what a killed process sent since comes again, with its id.
 * One process does it for all. After a restore it waits for an operator's word, and goes on from the place that the backup knows.
 */
import { systemCaller } from "../../callers/caller.ts";
import { toTimestamp, type Timer } from "../../clock.ts";
import { auditLog, type Context } from "../../context.ts";
import { isOrchestratorError } from "../../errors.ts";
import { eventTable, type OrchestratorEvent } from "../../events.ts";
import { toJsonObject } from "../../json.ts";
import type { LogEntry, StoredDocument, Write } from "../../storage/storage.ts";
import { BackgroundWork } from "../../upkeep/background-work.ts";
import { SoleDuty } from "../../upkeep/sole-duty.ts";
import type { AuditPlaceDocument, ChannelDocument, ChannelStateDocument } from "../documents.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { Attempt, Message } from "../senders/sender.ts";
import { attempt } from "./attempt.ts";
import { backoffMs, failingAttempts } from "./backoff.ts";
import type { ChannelBook } from "./channel-book.ts";
import type { ChannelConfigs } from "./channel-config.ts";
import { channelFailed } from "./channel-view.ts";
import { wayOf } from "./config-rules.ts";

const collection = "audit_places";
/** Events that are read, and told before the place is written, and for how long it is not, milliseconds. */
const atOnce = 100;
const unwrittenMs = 1_000;

type Place = StoredDocument<AuditPlaceDocument>;
type Channel = Readonly<ChannelDocument>;

type Entry = LogEntry<OrchestratorEvent>;

interface Parts {
  book: ChannelBook;
  configs: ChannelConfigs;
  outbound: Outbound;
}

export class AuditForwarding {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #work: BackgroundWork;
  readonly #duty: SoleDuty;
  readonly #stopping = new AbortController();
  /** Channels that are being told; true where there is something new meanwhile. */
  readonly #busy = new Map<string, boolean>();
  /** Channels that rest after an attempt that failed, and the way that it went. */
  readonly #resting = new Map<string, { timer: Timer; way: string }>();
  /** How many attempts failed for the event that is next. */
  readonly #attempts = new Map<string, number>();
  /** Up to where channels were told, and could not be noted: it is noted before they are told more. */
  readonly #unwritten = new Map<string, { revision: number; told: number }>();
  #unlisten: () => void = () => {};

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#work = new BackgroundWork(context);
    this.#duty = new SoleDuty(context, collection, {
      began: () => this.#wakeAll(),
      isNeeded: () => parts.book.all().some(({ source }) => source === "audit"),
    });
    for (const name of ["channels", "epochs"])
      context.feed.follow(name, () => {
        this.#wakeAll();
        void this.#duty.look();
      });
  }

  /** Goes on from where each channel was. */
  start(): Promise<void> {
    this.#unlisten = this.#context.feed.listen(({ event_type }) => {
      if (eventTable[event_type].audited) this.#wakeAll();
    });
    this.#context.epochs.onResume(() => this.#wakeAll());
    return this.#duty.start();
  }

  /** Ends what is under way: it is told again after the next start. */
  async stop(): Promise<void> {
    this.#unlisten();
    this.#stopping.abort();
    await this.#work.stop();
    await this.#duty.stop();
  }

  #wakeAll(): void {
    if (!this.#duty.isMine) return;
    for (const { id, source } of this.#parts.book.all()) {
      if (source !== "audit") continue;
      if (this.#busy.has(id)) this.#busy.set(id, true);
      else if (!this.#isResting(id)) this.#work.do(() => this.#forward(id));
    }
  }

  /** Whether a channel rests; on another way it does no more. */
  #isResting(channelId: string): boolean {
    const rest = this.#resting.get(channelId);
    const channel = this.#parts.book.get(channelId);
    if (!rest || !channel || wayOf(channel) === rest.way) return rest !== undefined;
    rest.timer.cancel();
    this.#resting.delete(channelId);
    return false;
  }

  async #forward(channelId: string): Promise<void> {
    if (this.#busy.has(channelId) || this.#isResting(channelId)) return;
    try {
      do {
        this.#busy.set(channelId, false);
        while (await this.#forwardNext(channelId));
      } while (this.#busy.get(channelId) === true && !this.#isResting(channelId));
    } finally {
      this.#busy.delete(channelId);
    }
  }

  /** Tells the next page of events. Returns whether there may be more. */
  async #forwardNext(channelId: string): Promise<boolean> {
    const { storage, epochs, clock } = this.#context;
    const place = await storage.get<AuditPlaceDocument>(collection, channelId);
    if (!place || epochs.isHeld(place.value)) return false;
    const unwritten = this.#unwritten.get(channelId);
    const known = this.#parts.book.get(channelId);
    if (known && unwritten?.revision === place.revision) {
      await this.#write(known, { place, told: unwritten.told }, null);
      return true;
    }
    const { base } = await storage.readLog(auditLog, { reverse: true, limit: 1 });
    const from = Math.max(place.value.sequence, base.sequence) + 1;
    const { entries, next } = await storage.readLog<OrchestratorEvent>(auditLog, { from, limit: atOnce });
    let told = place.value.sequence;
    let last: (Attempt & { way: string }) | null = null;
    const begunMs = clock.monotonic();
    for (const entry of entries) {
      const channel = this.#parts.book.get(channelId);
      if (!channel?.enabled || !this.#duty.isMine || this.#stopping.signal.aborted) break;
      if (this.#parts.book.wantsAudited(channelId, entry.value)) {
        last = { ...(await this.#try(channel, entry)), way: wayOf(channel) };
        if (!last.delivered) break;
      }
      told = entry.sequence;
      if (clock.monotonic() - begunMs >= unwrittenMs) break;
    }
    const channel = this.#parts.book.get(channelId);
    if (!channel || (told === place.value.sequence && last === null)) return false;
    if (this.#stopping.signal.aborted && last?.delivered === false) last = null;
    await this.#write(
      channel,
      { place, told },
      last && { attempt: last, entry: entries.find(({ sequence }) => sequence > told) },
    );
    return last?.delivered !== false && (next !== null || told < (entries.at(-1)?.sequence ?? 0));
  }

  #try(channel: Channel, entry: Entry): Promise<Attempt> {
    const { configs, outbound } = this.#parts;
    const attempting = { context: this.#context, configs, outbound, signal: this.#stopping.signal };
    return attempt(attempting, channel, toAuditMessage(entry));
  }

  async #write(
    channel: Channel,
    { place, told }: { place: Place; told: number },
    last: { attempt: Attempt & { way: string }; entry: Entry | undefined } | null,
  ): Promise<void> {
    const { clock, epochs } = this.#context;
    this.#unwritten.set(channel.id, { revision: place.revision, told });
    const moved: AuditPlaceDocument = { channel_id: channel.id, sequence: told, ...epochs.mark };
    const writes: Write[] = [
      { kind: "put", collection, key: channel.id, value: toJsonObject(moved), expected: place.revision },
    ];
    // Those before were of an event that is told by now.
    if (told > place.value.sequence) this.#attempts.delete(channel.id);
    const attempts = last?.attempt.delivered === false ? this.#rest(channel.id, last.attempt) : 0;
    if (attempts === 0) this.#attempts.delete(channel.id);
    if (attempts > 0) this.#attempts.set(channel.id, attempts);
    const wasFailing = this.#parts.book.stateOf(channel.id)?.is_failing ?? false;
    const isRefused = last?.attempt.permanent === true && last.attempt.way === wayOf(channel);
    const isFailing = attempts > 0 && (wasFailing || isRefused || attempts >= failingAttempts);
    if (last) {
      const { delivered, status_code, error } = last.attempt;
      const said = {
        ...(status_code !== undefined && { status_code }),
        ...(error !== undefined && { error }),
      };
      const state: ChannelStateDocument = {
        channel_id: channel.id,
        last_delivery: { at: toTimestamp(clock.now()), delivered, ...said },
        is_failing: isFailing,
      };
      writes.push({ kind: "put", collection: "channel_states", key: channel.id, value: toJsonObject(state) });
    }
    const delivery_id = last?.entry?.value.id ?? "";
    const failed = channelFailed(channel, { delivery_id, error: last?.attempt.error ?? "", attempts });
    try {
      await this.#context.commitWithReserve(
        systemCaller,
        writes,
        ...(isFailing && !wasFailing ? [failed] : []),
      );
    } catch (error) {
      // The channel is gone, or another process has told it.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
    this.#unwritten.delete(channel.id);
  }

  /** Has a channel rest after an attempt that failed. Returns how many there were for this event. */
  #rest(channelId: string, { retry_after_ms, way }: Attempt & { way: string }): number {
    const attempts = (this.#attempts.get(channelId) ?? 0) + 1;
    const chance = this.#context.crypto.randomBytes(1)[0]! / 255;
    const timer = this.#work.after(Math.max(retry_after_ms ?? 0, backoffMs(attempts, chance)), () => {
      this.#resting.delete(channelId);
      return this.#forward(channelId);
    });
    this.#resting.set(channelId, { timer, way });
    return attempts;
  }
}

/** An event as a channel is told of it, with the place and the hash by which the log knows it. */
function toAuditMessage({ sequence, hash, value }: Entry): Message {
  const { id, event_type, severity, summary, timestamp, actor, target, ...facts } = value;
  return {
    id,
    event_type,
    severity,
    title: summary,
    body: "",
    subject: target ?? actor,
    created_at: timestamp,
    data: toJsonObject({ sequence, hash, actor, ...facts }),
  };
}

/** What has a new channel told of the audit log from now on. */
export async function auditPlaceFromNowOn({ storage, epochs }: Context, channelId: string): Promise<Write> {
  const { head } = await storage.readLog(auditLog, { reverse: true, limit: 1 });
  const place: AuditPlaceDocument = { channel_id: channelId, sequence: head.sequence, ...epochs.mark };
  return { kind: "put", collection, key: channelId, value: toJsonObject(place), expected: 0 };
}
