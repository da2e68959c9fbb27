/**
 * The fast path of reading. What `lib` says will never change (`isLasting`) goes through the output schema and becomes text once;
 * from then on the same object is sent as the same text, alone or as an item of a page. A page that holds the same objects as
 * before is sent as the same bytes.
 *
 * Nothing can leak by it: a text is only ever made of what the output schema let through, and it belongs to one frozen object
 * and one procedure. All else goes the long way: schema, then text, with each request.
 */
import { isLasting } from "fleetwright";
import { toEntityTag } from "../http/entity-tags.ts";
import type { PreparedCall } from "../trpc/direct-call.ts";

/** An answer as text. */
export interface Rendering {
  body: string | Uint8Array;
  /** Null where the answer has no version. */
  etag: string | null;
}

/** Writes an answer of one procedure; null where it must go the long way. */
export type Render = (answer: unknown) => Rendering | null;

/** Tells the version of what a procedure returned. */
export type OutputVersion = (output: unknown) => number;

/**
 * Prepares the fast path for what a procedure returns.
 *
 * @param version - Null where what it returns has none.
 */
export function createRender({ toOutput, schema }: PreparedCall, version: OutputVersion | null): Render {
  const renderings = new WeakMap<object, Rendering>();
  const writeItem = createItemWriter(schema);
  const renderPage = writeItem === null ? null : createPageRender(writeItem);
  return (answer) => {
    if (!isLasting(answer)) return renderPage === null ? null : renderPage(answer);
    const known = renderings.get(answer);
    if (known !== undefined) return known;
    const output = toOutput(answer);
    if (output instanceof Promise) return null;
    const body = JSON.stringify(output);
    const rendering = { body, etag: version === null ? null : toEntityTag(version(output), body) };
    renderings.set(answer, rendering);
    return rendering;
  };
}

type ItemWriter = (item: unknown) => string | null;

/** How many pages of one list are kept as bytes: those that somebody looks at again and again. */
const keptPages = 32;

/** A page as it was sent before. */
interface SentPage {
  items: readonly unknown[];
  body: Uint8Array;
}

function createPageRender(writeItem: ItemWriter): Render {
  // By the cursor of the next page, which tells list, filter and place; the items tell the rest.
  const sent = new Map<string | null, SentPage>();
  return (answer) => {
    const { items, next_cursor } = answer as { items?: unknown; next_cursor?: unknown };
    if (!Array.isArray(items) || (next_cursor !== null && typeof next_cursor !== "string")) return null;
    const before = sent.get(next_cursor);
    if (before !== undefined && holdsSame(before.items, items)) return { body: before.body, etag: null };
    const texts = items.map(writeItem);
    if (texts.includes(null)) return null;
    const body = Buffer.from(`{"items":[${texts.join(",")}],"next_cursor":${JSON.stringify(next_cursor)}}`);
    sent.delete(next_cursor);
    const [oldest] = sent.keys();
    if (sent.size >= keptPages && oldest !== undefined) sent.delete(oldest);
    sent.set(next_cursor, { items, body });
    return { body, etag: null };
  };
}

function holdsSame(before: readonly unknown[], items: readonly unknown[]): boolean {
  if (before.length !== items.length) return false;
  for (let index = 0; index < items.length; index += 1) if (before[index] !== items[index]) return false;
  return true;
}

/** The parts of a zod schema that are read here. */
interface Schema {
  _zod: { def: { type: string; shape?: Record<string, Schema>; element?: Schema } };
  "~standard": { validate(value: unknown): { issues?: unknown; value?: unknown } | Promise<unknown> };
}

/** Writes the items of a page; null where the schema is not that of a page, which has `items` and `next_cursor` and nothing else. */
function createItemWriter(schema: unknown): ItemWriter | null {
  const { shape = {} } = schema === null ? {} : (schema as Schema)._zod.def;
  const element = shape["items"]?._zod.def.element;
  const isPage = Object.keys(shape).sort().join() === "items,next_cursor";
  if (!isPage || element === undefined) return null;
  const texts = new WeakMap<object, string>();
  return (item) => {
    const known = texts.get(item as object);
    if (known !== undefined) return known;
    if (!isLasting(item)) return null;
    const result = element["~standard"].validate(item);
    // The long way says what is wrong.
    if (result instanceof Promise || result.issues !== undefined) return null;
    const text = JSON.stringify(result.value);
    texts.set(item, text);
    return text;
  };
}
