/**
 * The windows that are not over, in memory, and which of them are active: asked for every operation that begins, so that the answer costs
 * what is active now, and neither what is stored nor what the fleet counts. A boundary that has passed is noticed by who asks.
 */
import type { Logger } from "../logger.ts";
import type { Cron } from "../schedules/cron.ts";
import { matchesSelector } from "../selectors/match.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import type { WindowDocument } from "./documents.ts";
import { never, occurrenceAt, type Occurrence } from "./occurrences.ts";

/** A window and how it stands from one instant until another. */
export interface Standing {
  document: Readonly<WindowDocument>;
  /** Null = the whole fleet. */
  selector: Selector | null;
  /** What goes on, or comes next; null where it is over. */
  occurrence: Occurrence | null;
  isActive: boolean;
  /** From when until when that holds, as long as the document does; the second exclusive. */
  from: number;
  to: number;
}

export class WindowBook {
  readonly #cron: Cron;
  readonly #logger: Logger;
  readonly #standings = new Map<string, Standing>();
  /** Those that are active from `#from` until `#to`. */
  #active: readonly Standing[] = [];
  #from = 0;
  #to = 0;
  #edition = 0;

  constructor({ cron, logger }: { cron: Cron; logger: Logger }) {
    this.#cron = cron;
    this.#logger = logger;
  }

  /** Takes a window in, or replaces what is known of it. */
  set(document: Readonly<WindowDocument>, selector: Selector | null): void {
    const unknown = { occurrence: null, isActive: false, from: 0, to: 0 };
    this.#standings.set(document.id, { document, selector, ...unknown });
    this.#forgetActive();
  }

  /** Forgets a window. */
  delete(id: string): void {
    if (this.#standings.delete(id)) this.#forgetActive();
  }

  /** The windows that are active at an instant. */
  active(atMs: number): readonly Standing[] {
    if (atMs < this.#from || atMs >= this.#to) this.#look(atMs);
    return this.#active;
  }

  /** What goes on of a window at an instant, or comes next; null where nothing does. */
  occurrenceOf(id: string, atMs: number): Occurrence | null {
    this.active(atMs);
    return this.#standings.get(id)?.occurrence ?? null;
  }

  /** Of the windows that are active at an instant, those of an agent. `target` is null where nothing is known of it. */
  of(target: SelectorTarget | null, atMs: number): Standing[] {
    return this.active(atMs).filter(
      ({ selector }) => selector === null || (target !== null && matchesSelector(selector, target)),
    );
  }

  /** When a window begins or ends next; null where none will. */
  nextChange(atMs: number): number | null {
    this.active(atMs);
    return this.#to === never ? null : this.#to;
  }

  /** Names what is known and what of it is active: whoever sees the same number twice knows that nothing has changed in between. */
  edition(atMs: number): number {
    this.active(atMs);
    return this.#edition;
  }

  /** As {@link of}, for an instant that need not be the present: what is remembered of the present stays. */
  ofAnyTime(target: SelectorTarget | null, atMs: number): Standing[] {
    if (atMs >= this.#from && atMs < this.#to) return this.of(target, atMs);
    return [...this.#standings.values()]
      .map((standing) => this.#at(standing, atMs))
      .filter(
        ({ isActive, selector }) =>
          isActive && (selector === null || (target !== null && matchesSelector(selector, target))),
      );
  }

  #forgetActive(): void {
    [this.#from, this.#to] = [0, 0];
    this.#edition += 1;
  }

  #look(atMs: number): void {
    const before = this.#active;
    let [from, to] = [0, never];
    const active: Standing[] = [];
    for (const [id, known] of this.#standings) {
      const standing = this.#at(known, atMs);
      if (standing !== known) this.#standings.set(id, standing);
      if (standing.isActive) active.push(standing);
      from = Math.max(from, standing.from);
      to = Math.min(to, standing.to);
    }
    [this.#active, this.#from, this.#to] = [active, from, to];
    const isSame = active.length === before.length && active.every((each, at) => each === before[at]);
    if (!isSame) this.#edition += 1;
  }

  #at(standing: Standing, atMs: number): Standing {
    if (atMs >= standing.from && atMs < standing.to) return standing;
    const { document, selector, occurrence: known } = standing;
    const isKnown = known !== null && known.from <= atMs && atMs < known.to;
    const occurrence = isKnown ? known : this.#occurrence(document, atMs);
    const isActive = occurrence !== null && occurrence.from <= atMs;
    const from = isActive ? occurrence.from : atMs;
    const to = occurrence === null ? never : isActive ? occurrence.to : occurrence.from;
    return { document, selector, occurrence, isActive, from, to };
  }

  /** A schedule that could be read when it was written, and can't here, e.g. for want of its time zone, must not end all work. */
  #occurrence(document: Readonly<WindowDocument>, atMs: number): Occurrence | null {
    try {
      return occurrenceAt(this.#cron, document, atMs);
    } catch (error) {
      this.#logger.error("The schedule of a maintenance window can't be read.", { error, id: document.id });
      return null;
    }
  }
}
