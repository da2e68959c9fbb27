import type { ListQuery, Storage, StoredDocument } from "./storage.ts";

/** Every document that a query finds, page by page; changes made meanwhile may or may not show. */
export async function* eachDocument<T>(
  storage: Storage,
  collection: string,
  query: Omit<ListQuery, "after" | "limit"> = {},
): AsyncGenerator<StoredDocument<T>> {
  for await (const items of eachPage<T>(storage, collection, { ...query, limit: 1000 })) yield* items;
}

/** The same in pages of `limit`, for what is done in slices. None is empty. */
export async function* eachPage<T>(
  storage: Storage,
  collection: string,
  query: Omit<ListQuery, "after"> & { limit: number },
): AsyncGenerator<StoredDocument<T>[]> {
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof storage.list<T>>> = await storage.list<T>(collection, {
      ...query,
      ...(after !== null && { after }),
    });
    if (page.items.length > 0) yield page.items;
    after = page.next;
  } while (after !== null);
}
