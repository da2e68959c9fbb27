/** Lists from their first page to their last. */
import { expect } from "vitest";
import type { Page } from "../../lib/internal/common-schemas.ts";

/** What of a call asks for a page. */
export interface PageQuery {
  limit?: number;
  cursor?: string;
}

/**
 * The items of a list, page by page. Fails where a page has more of them than were asked for, and where a cursor comes again.
 *
 * @param read - Asks for a page.
 * @param limit - Most items of a page. Default: what the list gives where nobody says.
 */
export async function pagesOf<Item>(
  read: (query: PageQuery) => Promise<Page<Item>>,
  limit?: number,
): Promise<Item[][]> {
  const pages: Item[][] = [];
  const seen = new Set<string | null>();
  for (let cursor: string | null | undefined; cursor !== null;) {
    const size = limit === undefined ? {} : { limit };
    const page = await read({ ...size, ...(cursor !== undefined && { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(limit ?? Infinity);
    pages.push(page.items);
    cursor = page.next_cursor;
    if (cursor !== null && seen.has(cursor)) throw new Error(`The list goes round: ${cursor} comes again.`);
    seen.add(cursor);
  }
  return pages;
}

/** The items of a list, whatever its pages; see {@link pagesOf}. */
export async function itemsOf<Item>(
  read: (query: PageQuery) => Promise<Page<Item>>,
  limit?: number,
): Promise<Item[]> {
  return (await pagesOf(read, limit)).flat();
}
