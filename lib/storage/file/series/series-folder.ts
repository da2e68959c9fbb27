import type { Chunk, ChunkFiles } from "./chunk-files.ts";
import type { HeadJournal, StoredHead } from "./head-journal.ts";
import { Head, readRows } from "./head.ts";
import { OwnerSeries, tiers, type Tier } from "./owner-series.ts";

/** What was found in a folder of time series. */
export interface SeriesContent {
  owners: Map<string, OwnerSeries>;
  /** Greater than the id of any head that ever was. */
  nextHead: number;
}

/** Reads a folder of time series: chunks first, then the heads that are in none of them. */
export async function readSeries(
  files: Readonly<Record<Tier, ChunkFiles>>,
  journal: HeadJournal,
): Promise<SeriesContent> {
  const owners = new Map<string, OwnerSeries>();
  const ownerOf = (owner: string): OwnerSeries => {
    const known = owners.get(owner) ?? new OwnerSeries(owner);
    owners.set(owner, known);
    return known;
  };
  let nextHead = 1;
  const taken = (id: number): void => void (nextHead = Math.max(nextHead, id + 1));
  for (const tier of tiers) {
    const found = new Map<string, Chunk[]>();
    await files[tier].open((owner, chunk) => {
      const chunks = found.get(owner) ?? [];
      found.set(owner, chunks);
      chunks.push(chunk);
      taken(chunk.last);
    });
    for (const [owner, chunks] of found) ownerOf(owner)[tier] = chunks.toSorted((a, b) => a.first - b.first);
  }
  for (const owner of owners.values()) dropReplaced(owner);
  const { heads, trims } = await journal.read();
  for (const trim of trims) {
    ownerOf(trim.owner).trim(trim);
    taken(trim.last);
  }
  const headsOf = new Map<string, StoredHead[]>();
  for (const head of heads) {
    taken(head.id);
    headsOf.set(head.owner, [...(headsOf.get(head.owner) ?? []), head]);
  }
  for (const [owner, ofOwner] of headsOf) restoreHead(ownerOf(owner), ofOwner);
  return { owners, nextHead };
}

/** A crash may leave chunks beside the one that they went into. */
function dropReplaced(owner: OwnerSeries): void {
  const kept: Chunk[] = [];
  for (const tier of tiers) {
    const replaced = owner[tier].filter((chunk) =>
      kept.some((other) => holds(other, chunk.first, chunk.last)),
    );
    owner.drop(tier, replaced);
    kept.push(...owner[tier]);
  }
}

/**
 * Makes one head of those that are in no chunk. Where a chunk was lost that was not synced, a later one may have survived:
 * it is dropped, because the journal holds its head, too, and what an owner has must stay in order.
 */
function restoreHead(owner: OwnerSeries, heads: readonly StoredHead[]): void {
  const isInChunk = ({ id }: StoredHead): boolean =>
    tiers.some((tier) => owner[tier].some((chunk) => holds(chunk, id, id)));
  const lost = heads.find((head) => !isInChunk(head));
  if (lost === undefined) return;
  owner.drop(
    "recent",
    owner.recent.filter((chunk) => chunk.first > lost.id && heads.some(({ id }) => id === chunk.last)),
  );
  const restored = heads.filter((head) => !isInChunk(head));
  const [only] = restored;
  if (only !== undefined && restored.length === 1) {
    owner.head = Head.from(only);
    return;
  }
  owner.head = new Head((restored.at(-1) ?? lost).id, owner.owner, lost.first);
  for (const { bytes } of restored) for (const row of readRows(bytes)) owner.head.append(row);
}

function holds(chunk: Chunk, first: number, last: number): boolean {
  return chunk.first <= first && chunk.last >= last;
}
