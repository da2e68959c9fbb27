/**
 * Notices that windows begin and end: tells each once, and has those hear of it who hold work. One timer is set, for the earliest boundary;
 * it is looked at more often than that, so that a clock which was set is noticed.
 *
 * That the beginning of an occurrence was told is on disk until its end is, and changes in the commit of the event: so each is told once,
 * however many processes look and whenever they start, and whichever of their clocks is ahead. What came and went while none was there is
 * not told.
 */
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp, type Timer } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { toJsonObject } from "../json.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import type { ToldDocument, WindowDocument } from "./documents.ts";
import type { Occurrence } from "./occurrences.ts";
import type { Standing, WindowBook } from "./window-book.ts";
import { windowFacts, windowSubject } from "./window-view.ts";

const collection = "maintenance_told";
const longestWaitMs = 30_000;
/** The clocks of two processes may differ by so much: where one has told of something, the other does not take it back before it comes there, too. */
const skewMs = 300_000;

interface Parts {
  book: WindowBook;
  /** Windows began, ended or were changed. */
  changed: () => void;
}

export class WindowRounds {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #work: BackgroundWork;
  readonly #told = new Map<string, StoredDocument<ToldDocument>>();
  /** When what was told last of a window had begun, once its end was told: a clock that is behind sees it go on for a while. */
  readonly #over = new Map<string, number>();
  #edition = -1;
  #isStarted = false;
  #timer: Timer | null = null;
  #isLooking = false;
  #isAsked = false;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#work = new BackgroundWork(context);
    context.feed.follow<ToldDocument>(collection, ({ key, document }) => {
      const before = this.#told.get(key);
      if (before) this.#over.set(key, Date.parse(before.value.starts_at));
      if (document) this.#told.set(key, document);
      else this.#told.delete(key);
    });
  }

  async load(): Promise<void> {
    for await (const told of eachDocument<ToldDocument>(this.#context.storage, collection))
      this.#told.set(told.key, told);
  }

  start(): void {
    this.#isStarted = true;
    this.look();
  }

  stop(): Promise<void> {
    return this.#work.stop();
  }

  /** A window was changed: what it does from now on is told, also where it ended a moment ago. */
  changed(id: string): void {
    this.#over.delete(id);
    this.look();
  }

  /** Looks what has begun or ended. */
  look(): void {
    if (this.#isStarted) this.#work.do(() => this.#look());
  }

  /** One at a time: who asks meanwhile has it look once more. */
  async #look(): Promise<void> {
    this.#isAsked = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      while (this.#isAsked) {
        this.#isAsked = false;
        this.#hasChanged();
        await this.#tell();
      }
    } finally {
      this.#isLooking = false;
      this.#setTimer();
    }
  }

  #hasChanged(): void {
    const edition = this.#parts.book.edition(this.#context.clock.now());
    if (edition === this.#edition) return;
    this.#edition = edition;
    this.#parts.changed();
  }

  async #tell(): Promise<void> {
    const { book } = this.#parts;
    const now = this.#context.clock.now();
    const active = new Map(book.active(now).map((each) => [each.document.id, each]));
    for (const [id, { revision, value }] of this.#told) {
      const occurrence = book.occurrenceOf(id, now);
      // Not the same beginning: where there is no gap for very long, not all of it is looked at.
      const isOfIt = isIn(occurrence, Date.parse(value.starts_at));
      if (!isOfIt || occurrence!.from > now + skewMs) await this.#tellEnd(value, revision);
    }
    for (const id of this.#over.keys()) if (!book.occurrenceOf(id, now)) this.#over.delete(id);
    for (const [id, standing] of active) {
      const { occurrence } = standing;
      const wasTold = isIn(occurrence, this.#over.get(id)) && occurrence!.to <= now + skewMs;
      if (!this.#told.has(id) && !wasTold) await this.#tellBeginning(standing);
    }
  }

  async #tellBeginning({ document, occurrence }: Standing): Promise<void> {
    const [starts_at, ends_at] = [toTimestamp(occurrence!.from), toTimestamp(occurrence!.to)];
    const value = toJsonObject({ id: document.id, starts_at, ends_at } satisfies ToldDocument);
    const write: Write = { kind: "put", collection, key: document.id, value, expected: 0 };
    await this.#commit(write, {
      type: "maintenance.started",
      target: windowSubject(document),
      summary: `Maintenance began: ${document.reason}`,
      metadata: { ...windowFacts(document), starts_at, ends_at },
    });
  }

  async #tellEnd({ id, starts_at }: Readonly<ToldDocument>, expected: number): Promise<void> {
    const write: Write = { kind: "delete", collection, key: id, expected };
    const stored = await this.#context.storage.get<WindowDocument>("maintenance_windows", id);
    if (!stored) return this.#commit(write);
    const { value } = stored;
    await this.#commit(write, {
      type: "maintenance.ended",
      target: windowSubject(value),
      summary: `Maintenance ended: ${value.reason}`,
      metadata: { ...windowFacts(value), starts_at, ends_at: this.#context.timestamp() },
    });
  }

  async #commit(write: Write, ...events: EventInput[]): Promise<void> {
    try {
      await this.#context.commit(systemCaller, [write], ...events);
    } catch (error) {
      // Another process has told it.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }

  #setTimer(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const now = this.#context.clock.now();
    const next = this.#parts.book.nextChange(now);
    if (next === null && this.#told.size === 0) return;
    const waitMs = Math.min((next ?? Infinity) - now, longestWaitMs);
    this.#timer = this.#work.after(waitMs, () => this.#look());
  }
}

function isIn(occurrence: Occurrence | null, atMs: number | undefined): boolean {
  return occurrence !== null && atMs !== undefined && occurrence.from <= atMs && atMs < occurrence.to;
}
