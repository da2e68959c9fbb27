/**
 * Looks by itself whether the audit log was changed, so that somebody hears of it whom nobody told to ask:
 *
 *   every hour   the events behind the place that was verified last, so that it costs what is new
 *   every week   all events, since whoever changes an old one waits until nobody looks at it any more
 *
 * Both go a page at a time, with a rest, and note where they are: a process that ends leaves the rest to the next one, or to another on the same
 * storage. One at a time does it, under a lease, and each note is refused where somebody else has made one since.
 */
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { dayMs, hourMs } from "../internal/durations.ts";
import { zeroHash } from "../storage/hash-chain.ts";
import { keepRounds } from "../upkeep/rounds.ts";
import { isOurs, placeOf, readAnchor } from "./anchor.ts";
import { checkPage, readPage, type ChainStep, type Place } from "./chain.ts";
import type { CheckRecord } from "./check-record.ts";

/** From one look at what is new to the next. */
const everyMs = hourMs;
/** From the end of a pass over the whole log to the next, fleet time. */
const passEveryMs = 7 * dayMs;
/** Events of a page: 8 ms of work, measured. With the rest after it the check takes a twentieth of a core. */
const pageEvents = 200;
const restMs = 150;
/** Pages after which it is noted how far a long check has come: what a killed process did since is done again. */
const notedPages = 100;
/** A process that is gone for so long does not check any more. */
const leaseMs = 15_000;

const beginning: Place = { sequence: 0, hash: zeroHash };

export class SelfCheck {
  readonly #context: Context;
  readonly #record: CheckRecord;

  constructor(context: Context, record: CheckRecord) {
    this.#context = context;
    this.#record = record;
  }

  /** Checks from now on. The function returned ends it. */
  keep(): () => Promise<void> {
    const { clock, logger } = this.#context;
    return keepRounds({
      clock,
      everyMs,
      pauseMs: restMs,
      round: () => this.#round(),
      failed: (error) =>
        logger.warn("The audit log was not checked to its end; it goes on later.", { error }),
    });
  }

  async *#round(): AsyncGenerator<void> {
    const lease = await this.#context.storage.lease("audit_check", leaseMs);
    if (!lease) return;
    try {
      for await (const _ of this.#check()) {
        yield;
        if (!(await lease.renew())) return;
      }
    } catch (error) {
      // Somebody verified the log meanwhile, and told what they found.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    } finally {
      await lease.release();
    }
  }

  async *#check(): AsyncGenerator<void> {
    yield* this.#checkNew();
    const { pass, passed_at } = (await this.#record.read()).value;
    if (pass !== null || this.#context.fleetTime.now() - passed_at >= passEveryMs) yield* this.#checkAll();
  }

  /** The events behind the place that was verified last. */
  async *#checkNew(): AsyncGenerator<void> {
    let noted = await this.#record.read();
    let verified = noted.value.verified;
    for (let pages = 1; ; pages += 1) {
      const { place, bad, isEnd } = await this.#checkPage(verified);
      verified = place;
      if (bad !== null) {
        const new_bad = await this.#firstBad(verified, bad);
        return void (await this.#record.tell(noted, { new_bad }, { verified }));
      }
      if (isEnd) break;
      if (pages % notedPages === 0) noted = await this.#record.note(noted, { verified });
      yield;
    }
    await this.#record.note(noted, { verified, new_bad: null });
  }

  /** All events from the anchor on. What comes meanwhile is looked at on the way, as often as it is noted. */
  async *#checkAll(): AsyncGenerator<void> {
    let noted = await this.#record.read();
    let pass = noted.value.pass ?? beginning;
    for (let pages = 1; ; pages += 1) {
      const { place, bad, isEnd } = await this.#checkPage(pass, noted.value.verified);
      pass = place;
      const ended = { pass: null, passed_at: this.#context.fleetTime.now() };
      if (bad !== null) return void (await this.#record.tell(noted, { bad }, ended));
      if (isEnd)
        return void (await this.#record.note(noted, { ...ended, verified: pass, bad: null, new_bad: null }));
      yield;
      if (pages % notedPages !== 0) continue;
      yield* this.#checkNew();
      noted = await this.#record.note(await this.#record.read(), { pass });
    }
  }

  /** One page; what was removed up to the anchor meanwhile is not missed. */
  async #checkPage(after: Place, known?: Place): Promise<ChainStep> {
    for (;;) {
      const anchor = await readAnchor(this.#context);
      if (anchor && !isOurs(this.#context, anchor.value)) return { place: after, bad: 1, isEnd: true };
      const base = placeOf(anchor);
      const from = base.sequence > after.sequence ? base : after;
      const step = await checkPage(this.#context, from, { limit: pageEvents, known });
      if (step.bad === null || (await readAnchor(this.#context))?.revision === anchor?.revision) return step;
    }
  }

  /** Where the event that was verified last is another one now, that is the first bad one, and not the one behind it. */
  async #firstBad({ sequence, hash }: Place, bad: number): Promise<number> {
    if (bad !== sequence + 1) return bad;
    const page = await readPage(this.#context, { from: sequence, limit: 1 });
    if ("badSequence" in page) return Math.min(bad, page.badSequence);
    const [entry] = page.entries;
    return entry?.sequence === sequence && entry.hash !== hash ? sequence : bad;
  }
}
