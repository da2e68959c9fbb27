import type { Chunk } from "./chunk-files.ts";
import type { Trim } from "./head-journal.ts";
import type { Head } from "./head.ts";

/** How a chunk was made: of one head, of several chunks of heads, or of five-minute points. */
export type Tier = "recent" | "raw" | "coarse";

/** All tiers, from the oldest samples to the newest. */
export const tiers: readonly Tier[] = ["coarse", "raw", "recent"];

/** What is kept of one owner. Chunks of a tier are in the order their samples came. */
export class OwnerSeries {
  readonly owner: string;
  /** A number of the owner's own, by which work on many owners is spread over time. */
  readonly spread: number;
  coarse: readonly Chunk[] = [];
  raw: readonly Chunk[] = [];
  recent: readonly Chunk[] = [];
  /** A head that is being written as a chunk. */
  sealing: Head | null = null;
  head: Head | null = null;
  trims: readonly Trim[] = [];
  /** When it is to be looked at next, by the monotonic clock. */
  dueAt = 0;

  constructor(owner: string) {
    this.owner = owner;
    this.spread = hashOf(owner);
  }

  get isEmpty(): boolean {
    const { coarse, raw, recent, trims, sealing, head } = this;
    return coarse.length + raw.length + recent.length + trims.length === 0 && (sealing ?? head) === null;
  }

  /** The time before which rows of a chunk were trimmed. */
  hiddenBefore(chunk: Chunk): number {
    return this.trims.reduce(
      (before, trim) => (trim.last >= chunk.last ? Math.max(before, trim.before) : before),
      -Infinity,
    );
  }

  /** Lets go of chunks of a tier. */
  drop(tier: Tier, gone: readonly Chunk[]): void {
    for (const { file } of gone) file.used--;
    this[tier] = this[tier].filter((chunk) => !gone.includes(chunk));
  }

  /** Adds a trim. Chunks that hold nothing else are let go. */
  trim(trim: Trim): void {
    this.trims = [...this.trims.filter(({ before }) => before > trim.before), trim];
    for (const tier of tiers) {
      this.drop(
        tier,
        this[tier].filter((chunk) => chunk.last <= trim.last && chunk.to < trim.before),
      );
    }
  }
}

/** A chunk of an owner, and where it is kept. */
export interface HeldChunk {
  tier: Tier;
  chunk: Chunk;
}

/** All chunks of an owner, from the oldest to the newest. */
export function heldChunks(owner: OwnerSeries): HeldChunk[] {
  return tiers.flatMap((tier) => owner[tier].map((chunk) => ({ tier, chunk })));
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193) >>> 0;
  return hash;
}
