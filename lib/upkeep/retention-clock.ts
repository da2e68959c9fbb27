/**
 * The time by which what is old is removed. A wall clock that is wrong for an hour must not remove what took years to come
 * together, so this time follows the wall clock only as far as it can be believed:
 *
 *   follows ──the wall clock is more than a day ahead of the time that certainly passed──▶ holds
 *   holds ──it comes back──▶ follows
 *   holds ──it goes on steadily for a day of running──▶ follows, from then on
 *
 * While it holds, only the time counts that passed by the clock that never jumps. Where it stands is stored, so that a
 * restart with a wrong clock is noticed, too; so is a server that was away for more than a day, and it waits a day.
 */
import type { Clock } from "../clock.ts";
import { isOrchestratorError } from "../errors.ts";
import { dayMs } from "../internal/durations.ts";
import type { Logger } from "../logger.ts";
import type { CollectionDefinition, Storage } from "../storage/storage.ts";

/** How far the two clocks may part between two looks and still be steady. */
const steadyMs = 300_000;
/** A look that finds nothing new is written so often. */
const writeMs = 600_000;
/** The same on a full disk: the reserve is there for those who make space, and has to last for months. */
const fullWriteMs = 21_600_000;

/** Where the time stands. All in milliseconds. */
export interface RetentionTime {
  /** What is believed, since 1970. */
  believed_ms: number;
  /** What the wall clock said. */
  wall_ms: number;
  /** For how long it has gone on steadily since it jumped. */
  steady_ms: number;
}

/** What the clocks say at a look. */
export interface ClockLook {
  wallMs: number;
  /** Since the look before, by the clock that never jumps; null at the first one of a process. */
  elapsedMs: number | null;
}

/** Where the retention clock is kept. */
export const retentionClockCollections = {
  retention_clock: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

/** Where the time stands after a look; the rule at the head of this file. */
export function follow(before: RetentionTime | null, { wallMs, elapsedMs }: ClockLook): RetentionTime {
  const followed = { believed_ms: wallMs, wall_ms: wallMs, steady_ms: 0 };
  if (before === null) return followed;
  const certain = before.believed_ms + (elapsedMs ?? 0);
  if (wallMs - certain <= dayMs) return followed;
  const moved = wallMs - before.wall_ms;
  // Nobody knows how long a process was away: a day is believed.
  const isSteady =
    elapsedMs === null ? moved >= 0 && moved <= dayMs : Math.abs(moved - elapsedMs) <= steadyMs;
  const steady = isSteady ? before.steady_ms + (elapsedMs ?? 0) : 0;
  if (steady >= dayMs) return followed;
  return { believed_ms: certain, wall_ms: wallMs, steady_ms: steady };
}

/** Tells the time by which what is old is removed. */
export class RetentionClock {
  readonly #parts: { storage: Storage; clock: Clock; logger: Logger };
  #time: RetentionTime | null = null;
  #lookedAt: number | null = null;
  #writtenAt = -Infinity;
  #looks: Promise<unknown> = Promise.resolve();

  constructor(parts: { storage: Storage; clock: Clock; logger: Logger }) {
    this.#parts = parts;
  }

  /**
   * Milliseconds since 1970, never further than can be believed.
   *
   * @throws {OrchestratorError} Of the storage: nothing may be removed then.
   */
  now(): Promise<number> {
    const look = this.#looks.then(() => this.#look());
    this.#looks = look.catch(() => {});
    return look;
  }

  /** Whether the wall clock is too far ahead to be believed, as of the last look. */
  get isHeld(): boolean {
    return this.#time !== null && holds(this.#time);
  }

  async #look(): Promise<number> {
    const { clock, storage, logger } = this.#parts;
    const lookedAt = clock.monotonic();
    const elapsedMs = this.#lookedAt === null ? null : lookedAt - this.#lookedAt;
    const before = this.#time ?? (await storage.get<RetentionTime>("retention_clock", "now"))?.value ?? null;
    const after = follow(before, { wallMs: clock.now(), elapsedMs });
    const isHeld = holds(after);
    const isNews = before === null || isHeld !== holds(before);
    if (isNews && isHeld) {
      const fields = { clock_ms: after.wall_ms, believed_ms: after.believed_ms };
      logger.warn(
        "The clock is far ahead: nothing is removed for its age until it was so for a day.",
        fields,
      );
    }
    const sinceMs = lookedAt - this.#writtenAt;
    if ((isNews || sinceMs >= writeMs) && (await this.#write(after, isNews || sinceMs >= fullWriteMs)))
      this.#writtenAt = lookedAt;
    this.#time = after;
    this.#lookedAt = lookedAt;
    return after.believed_ms;
  }

  /** False where there is no space, and it need not be written yet: what is removed by the time that is known makes some. */
  async #write(time: Readonly<RetentionTime>, isUrgent: boolean): Promise<boolean> {
    const writes = [{ kind: "put", collection: "retention_clock", key: "now", value: { ...time } } as const];
    try {
      await this.#parts.storage.commit(writes);
      return true;
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
      if (isUrgent) await this.#parts.storage.commit(writes, { reserve: true });
      return isUrgent;
    }
  }
}

function holds({ believed_ms, wall_ms }: Readonly<RetentionTime>): boolean {
  return wall_ms - believed_ms > dayMs;
}
