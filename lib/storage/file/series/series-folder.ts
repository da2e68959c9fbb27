import type { Chunk, ChunkFiles } from "./chunk-files.ts";
import { Head, readRows } from "./head.ts";
import type { HeadJournal } from "./head-journal.ts";
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
  for (const { id, owner, bytes } of heads) {
    taken(id);
    restoreHead(ownerOf(owner), id, bytes);
  }
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

/** Takes a head back, unless it is in a chunk by now. An owner has one; a crash may leave another, sealed too late. */
function restoreHead(owner: OwnerSeries, id: number, bytes: Uint8Array): void {
  if (tiers.some((tier) => owner[tier].some((chunk) => holds(chunk, id, id)))) return;
  owner.head ??= new Head(id, owner.owner);
  for (const row of readRows(bytes)) owner.head.append(row);
}

function holds(chunk: Chunk, first: number, last: number): boolean {
  return chunk.first <= first && chunk.last >= last;
}
