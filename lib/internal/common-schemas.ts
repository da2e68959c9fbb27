/** Shapes that several features take or return. */
import { z } from "zod";
import { linearJson } from "./json-value.ts";

/** Name of a module, assignment, secret or channel. */
export const nameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "1-64 of a-z, 0-9, '.', '_', '-', starting with a letter or digit");

/** Name of an agent or operator. */
export const personNameSchema = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, "1-64 letters, digits, '-' or '_', starting with a letter");

/** Identifier derived from a public key: the first 32 hex digits of its SHA-256. */
export const keyIdSchema = z.string().regex(/^[0-9a-f]{32}$/, "32 lower-case hex digits");

export const idSchema = z.uuid();

/** What a verb returns that has nothing to say. */
export const nothingSchema = z.void();

/** Any JSON value. Registered itself, not a copy: it contains itself, and descriptions are to know it by one name. */
export const jsonSchema = linearJson().register(z.globalRegistry, { id: "Json" });

export const timestampSchema = z.iso.datetime({
  offset: true,
  // In a query a "+" is a space.
  error: "a time with its zone, e.g. 2026-01-31T12:00:00Z (in a URL, + is written %2B)",
});

/** How much of a list is wanted. */
export const pageInput = {
  limit: z.number().int().min(1).max(500).optional().describe("Most items of one page, 1-500. Default 50."),
  cursor: z.string().max(4096).optional().describe("`next_cursor` of the page before."),
};

/** How long a call waits for an operation to end before it answers with what is there. */
export const waitInput = {
  wait_seconds: z
    .number()
    .min(0)
    .max(300)
    .optional()
    .describe("How long to wait for the end, 0-300. Default 30."),
};

/** A page of a list. */
export function pageOf<Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ items: z.ZodArray<Item>; next_cursor: z.ZodNullable<z.ZodString> }, z.core.$strip> {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() });
}

/** A page of a list. */
export interface Page<Item> {
  items: Item[];
  /** Pass as `cursor` for the next page; null at the end. */
  next_cursor: string | null;
}

/** How often what is stored of something was changed; {@link ChangeOptions.ifVersion} takes it. */
export const versionSchema = z
  .number()
  .int()
  .min(0)
  .describe("Rises with each change of what is stored of it; the number in its `ETag`.");

/** Whether maintenance windows are passed over. */
export const overrideWindowSchema = z
  .boolean()
  .describe("Begins in spite of maintenance windows with the mode `freeze`. For Admins; it is recorded.");

/** How many things an apply may remove from a machine. */
export const maxRemovalsSchema = z
  .number()
  .int()
  .min(0)
  .max(20_000)
  .describe(
    "How many things may be removed from a machine; where it would be more nothing is changed there. Default any number.",
  );
