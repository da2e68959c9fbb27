/** Removes terminals that ended long ago, each with its recording. */
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { dayMs } from "../internal/durations.ts";
import type { Write } from "../storage/storage.ts";
import { eachOldPage, keepRetention } from "../upkeep/retention.ts";
import { recordingOf, type TerminalDocument } from "./documents.ts";

export class TerminalRetention {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Removes, now and every hour, what is older than `terminalRetentionDays`. The function returned ends it. */
  keep(): () => Promise<void> {
    return keepRetention(this.#context, "terminals", { round: () => this.round() });
  }

  /** Removes what is old; yields after each slice. */
  async *round(): AsyncGenerator<void> {
    const { options, retentionClock } = this.#context;
    const before = (await retentionClock.now()) - options.terminalRetentionDays * dayMs;
    for await (const page of eachOldPage<TerminalDocument>(this.#context, "terminals", before)) {
      const writes: Write[] = [];
      for (const { key, revision, value } of page) {
        if (value.status === "active" || Date.parse(value.closed_at ?? value.opened_at) >= before) continue;
        writes.push({ kind: "delete", collection: "terminals", key, expected: revision });
        writes.push({ kind: "dropBlob", id: recordingOf(key) });
      }
      if (writes.length > 0) await this.#remove(writes, toTimestamp(before));
      yield;
    }
  }

  /** With the reserve: this makes space. */
  async #remove(writes: readonly Write[], before: string): Promise<void> {
    const removed = writes.length / 2;
    await this.#context.commitWithReserve(systemCaller, writes, {
      type: "terminal.pruned",
      summary:
        removed === 1
          ? `A terminal that ended before ${before} was removed with its recording`
          : `${removed} terminals that ended before ${before} were removed with their recordings`,
      metadata: { removed, before },
    });
  }
}
