import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { dayMs } from "../internal/durations.ts";
import { keepRounds } from "../upkeep/rounds.ts";
import { BlockIndexing } from "./block-indexing.ts";
import { LeastAge } from "./least-age.ts";
import { AuditPruning } from "./pruning.ts";
import type { AuditRetention, AuditVerification } from "./schemas.ts";

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
  /** Where the log broke when that was told last. */
  #toldBad: number | null = null;

  constructor(context: Context) {
    this.#context = context;
    this.age = new LeastAge(context);
    this.pruning = new AuditPruning(context);
    this.#indexing = new BlockIndexing(context);
  }

  /** Removes, now and every hour, what is older than the retention, and keeps the index. The function returned ends it. */
  keep(): () => Promise<void> {
    const { clock, logger } = this.#context;
    const endIndexing = this.#indexing.keep();
    const endRetention = keepRounds({
      clock,
      everyMs: pruneEveryMs,
      pauseMs: 0,
      round: () => this.#pruneOld(),
      failed: (error) => logger.error("Old audit events were not removed.", { error }),
    });
    return async () => void (await Promise.all([endIndexing(), endRetention()]));
  }

  async *#pruneOld(): AsyncGenerator<void> {
    const { retention_days: days } = await this.retention();
    const now = await this.#context.retentionClock.now();
    // Also where nothing is old: what a call left when the process ended in it.
    yield void (await this.pruning.prune({ beforeMs: days === null ? -Infinity : now - days * dayMs }));
  }

  /** Tells that the log was found broken, unless that is known. */
  async tellVerified({ first_bad_sequence }: AuditVerification): Promise<void> {
    const [known, bad] = [this.#toldBad, first_bad_sequence ?? null];
    this.#toldBad = bad;
    if (bad === null || bad === known) return;
    await this.#context.tell("audit.invalid", () =>
      this.#context.commitWithReserve(systemCaller, [], {
        type: "audit.invalid",
        summary: `The audit log does not fit from event ${bad} on: it was changed, or is damaged`,
        metadata: { first_bad_sequence: bad },
      }),
    );
  }

  /** Version 0 where nobody has set it yet. What was set before there was a least age counts for no less than that. */
  async retention(): Promise<AuditRetention> {
    const stored = await this.#context.storage.get<Kept>("settings", "audit_retention");
    const days = stored ? stored.value.retention_days : defaultRetentionDays;
    const retention_days = days === null ? null : Math.max(days, this.age.leastDays);
    return { retention_days, version: stored?.revision ?? 0 };
  }
}
