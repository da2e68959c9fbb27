import type { Context } from "../context.ts";
import { dayMs } from "../internal/durations.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { keepRounds } from "../upkeep/rounds.ts";
import { BlockIndexing } from "./block-indexing.ts";
import { CheckRecord } from "./check-record.ts";
import { LeastAge } from "./least-age.ts";
import { AuditPruning } from "./pruning.ts";
import type { AuditRetention, AuditVerification } from "./schemas.ts";
import { SelfCheck } from "./self-check.ts";
import { verifyLog, type KnownHead } from "./verification.ts";

const defaultRetentionDays = 90;
const pruneEveryMs = 3_600_000;

/** The retention as it is kept. */
type Kept = Omit<AuditRetention, "version">;

/** For how long events are kept, and their removal. */
export class AuditService {
  readonly age: LeastAge;
  readonly pruning: AuditPruning;
  readonly #context: Context;
  readonly #indexing: BlockIndexing;
  readonly #check: CheckRecord;
  readonly #selfCheck: SelfCheck;

  constructor(context: Context) {
    this.#context = context;
    this.age = new LeastAge(context);
    this.pruning = new AuditPruning(context);
    this.#indexing = new BlockIndexing(context);
    this.#check = new CheckRecord(context);
    this.#selfCheck = new SelfCheck(context, this.#check);
  }

  /** Removes, now and every hour, what is older than the retention, keeps the index, and looks whether the log was changed. The function returned ends it. */
  keep(): () => Promise<void> {
    const { clock, logger } = this.#context;
    const ends = [this.#indexing.keep(), this.#selfCheck.keep()];
    const endRetention = keepRounds({
      clock,
      everyMs: pruneEveryMs,
      pauseMs: 0,
      round: () => this.#pruneOld(),
      failed: (error) => logger.error("Old audit events were not removed.", { error }),
    });
    return async () =>
      void (await Promise.all([endRetention(), this.pruning.stop(), ...ends.map((end) => end())]));
  }

  async *#pruneOld(): AsyncGenerator<void> {
    const { retention_days: days } = await this.retention();
    const now = await this.#context.retentionClock.now();
    // Also where nothing is old: what a call left when the process ended in it.
    yield void (await this.pruning.prune({ beforeMs: days === null ? -Infinity : now - days * dayMs }));
  }

  /** Recomputes the whole chain, and tells where it is broken, unless that is known. */
  async verify(known: KnownHead | null): Promise<AuditVerification> {
    const { verified } = (await this.#check.read()).value;
    const verification = await verifyLog(this.#context, known, verified);
    const bad = verification.first_bad_sequence;
    if (bad === undefined) await this.#noteValid();
    else
      await this.#context.tell("audit.invalid", () =>
        retryOnConflict(async () => this.#check.tell(await this.#check.read(), { bad })),
      );
    return verification;
  }

  /** What is broken after this is told again. Where all was well before nothing is written. */
  async #noteValid(): Promise<void> {
    try {
      await retryOnConflict(async () =>
        this.#check.note(await this.#check.read(), { bad: null, new_bad: null }),
      );
    } catch (error) {
      this.#context.logger.warn("That the audit log is valid again was not noted.", { error });
    }
  }

  /** Version 0 where nobody has set it yet. What was set before there was a least age counts for no less than that. */
  async retention(): Promise<AuditRetention> {
    const stored = await this.#context.storage.get<Kept>("settings", "audit_retention");
    const days = stored ? stored.value.retention_days : defaultRetentionDays;
    const retention_days = days === null ? null : Math.max(days, this.age.leastDays);
    return { retention_days, version: stored?.revision ?? 0 };
  }
}
